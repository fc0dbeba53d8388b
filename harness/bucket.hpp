// Bucket: what failures with one cause have in common, as four words joined by dots:
// stage.kind.pattern.kernel. Two nights agree on it, and so do a case and what it is shrunk to: its
// words come from what does not change with the number of sequences, heads, splits or tokens, nor,
// near a bound, by chance.
//
// stage: where it goes wrong first
//   scores, values, merge   a number: in Q.K and softmax, in P.V, in stage 2
//   rounding                a number: all that is wrong is o, as another rounding would have it
//   stage1, stage2          what was not written, or zeros, or not its own; a fault or a hang
//   launch                  a fault, a hang or a refused launch of a kernel whose name has neither
//   memory                  found after the launch
//   suspect                 all elements together: the kind is the filter that says so
//   the name of a property  what was broken (fuzz/properties/); of stress.hpp: repeat, order
//   process                 the worker process that ran the case (worker_end.hpp)
//   replay-...              any of these, in the replay of a graph
// kind:
//   unwritten               still the poison where a value belongs
//   stale                   in a trajectory: the answer of an earlier launch
//   nan, inf                where a finite value belongs; an lse of -inf is a wrong number
//   zero                    all that is wrong is 0
//   wrong                   a number that is not within its bounds
//   overwritten             written where nothing belongs
//   differs                 from another launch: of schedule, repeat and order a race, of poison a
//                           read of what nobody wrote
//   the name of a check     what a device that watches the execution found (check_report.hpp)
//   use_after_free          an access to a buffer that was released
//   oob                     an access outside every buffer, or a damaged guard zone
//   input                   it changed an input
//   refused                 a launch that the device cannot do: its grid, threads, LDS, arguments
//   hang, crash             no end within the budget, or a process' time limit; any other fault
// pattern: of numbers see fault_set.hpp; of oob, input and stress the tensor's name, or "far" beyond
// the reach of a guard zone; of a check the source line and its caller, "load-hpp-38-stage1-hpp-7", or the pc; of a
// process' crash the signal, "sigsegv", or how it exited, "exit7"; else "all".
#pragma once
#include <string>
#include <string_view>

#include "harness/core/trouble.hpp"

namespace attest {

struct Bucket {
  std::string stage, kind, pattern, kernel;
  bool operator==(const Bucket&) const = default;
};

std::string to_string(const Bucket& bucket);  // "values.wrong.scattered.mla_decode"
// Trouble kUsage: other than four words of small letters, digits, '_' and '-'.
Result<Bucket> parse_bucket(std::string_view text);

// Of a launch that ended in kCrashed or kHung, from the device's text.
Bucket bucket_of(const Trouble& trouble, std::string_view kernel);
// Of an Output's damage.
Bucket bucket_of_damage(std::string_view damage, std::string_view kernel);

}  // namespace attest

// Verdict: what is known about one case after it ran.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attest {

enum class Status {
  kPassed,
  kSuspect,
  kVacuous,
  kFailed,
  kFlaky,
  kCrashed,
  kHung,
  kSkipped,
  kInfra,
  kXfail,
  kXpass
};
std::string_view to_string(Status status);

// The kernel is wrong.
constexpr bool is_failure(Status s) {
  return s == Status::kFailed || s == Status::kCrashed || s == Status::kHung;
}
// Somebody must look at it.
constexpr bool is_finding(Status s) {
  return is_failure(s) || s == Status::kSuspect || s == Status::kXpass;
}

// One named part of a bound at one element, in the element's units.
struct BoundTerm {
  std::string name;  // "P rounded to bf16"
  double value = 0;
};

// The element with the largest ratio of one tensor; kept when passing too. Its numbers are those of
// one gate: of the loosest that it breaks, else of the one with the largest ratio.
struct Worst {
  std::string tensor;  // "o", "lse", "partial_o", "partial_lse"
  std::string tier;    // "T2p": that gate; empty where the contract gives the value exactly
  int sequence = -1, query_token = -1, head = -1, split = -1, column = -1;
  std::int64_t launch_row =
      -1;  // that actual was read in, where a property's launch has rows of its own
  double actual = 0, expected = 0, error = 0,
         bound = 0;  // expected: with what the tier's declared roundings move
  std::uint32_t actual_bits = 0, expected_bits = 0;  // as stored: bf16 in the low half, or fp32
  // error / (bound + half an ulp of the stored format, a whole one where it truncates); inf for a
  // non-finite mismatch.
  double ratio = 0;
  std::vector<BoundTerm> terms;  // largest first; filled for the worst element of the worst tensor
};

std::string place_text(const Worst& at);  // "sequence 0, query token 1, head 3, split 2, column 17"

// How the elements of a tensor lie within their bounds, over a sample of those that owe a finite
// value: every k-th.
struct Spread {
  static constexpr int kBins = 18;
  std::string tensor;
  std::int64_t sampled = 0;
  // [0]: exactly 0; [i]: ratio in (2^(i-13), 2^(i-12)], the first with all below, the last with all
  // above, so that a ratio over 1 is in [13] or later.
  std::array<std::int64_t, kBins> by_ratio{};
  // Distance from the expected value as stored, in units in the last place of the format: [0]: 0;
  // [1]: 1; [i]: (2^(i-2), 2^(i-1)]; the last with all above.
  std::array<std::int64_t, kBins> by_ulp{};
  double ratio_median = 0, ratio_p99 = 0;
  // Radius of the tightest gate: what a loosened tolerance or contract moves, and no kernel can.
  double bound_median = 0;
};

// Where the wrong elements of one tensor lie: how many in each block.
struct FaultMap {
  std::string tensor;
  std::string row_axis, column_axis;  // "row" (of [total_q, h_q]), "split" or "column"
  int row_block = 1,
      column_block = 1;  // rows (columns) of the tensor that one of the map stands for
  int rows = 0, columns = 0;
  std::vector<std::int64_t> counts;  // [rows, columns]
};

// A matched filter over the residuals of o: how many standard deviations of the predicted noise lie
// along one direction.
struct Score {
  std::string filter;  // "gain", "temperature", "token", "tile", "split"
  double z = 0;
  int sequence = -1, split = -1;         // where the filter has a place
  int token_begin = -1, token_end = -1;  // [begin, end)
};

// What a case could show: facts of its data and of what the gates would have seen.
struct Evidence {
  double logit_min = 0, logit_max = 0;  // natural units, over all rows
  double n_eff_min = 0, n_eff_max = 0;  // 1 / sum a^2 of a row
  double flush_mass = 0;     // largest share of a row's weight that P's rounding makes zero
  double gain_bias = 0;      // of largest magnitude: sum a (rounded P / P - 1) of a row
  double condition_max = 0;  // largest sum_d sum a|v| / sum_d |o| of a row
  // Shares (0..1) of what would be missed if it were lost, of those looked at; -1: there is nothing
  // to lose.
  double tokens_visible = -1, pages_visible = -1, splits_visible = -1;
  double smallest_weight_seen = 0;  // least a_j of a looked-at token whose loss would be noticed
  int rows_certified = 0;           // that the streaming oracle recomputed
  double reference_off = 0;         // by how much, at most, of what the gates allow
  double mismatch = 0;              // share of o whose bits are not those of the emulated reference
  std::vector<std::string> strawmen;  // those that differ from the output, and so were judged
  std::vector<Score> scores;          // the largest |z| of each filter
};

struct [[nodiscard]] Verdict {
  Status status = Status::kInfra;  // pessimistic: nothing passes by omission
  std::string reason;              // mandatory unless passed: which stage, kind, where, how wrong
  std::string bucket;        // stage.kind.pattern.kernel (harness/bucket.hpp); of what is not right
  std::int64_t checked = 0;  // elements judged
  std::int64_t wrong = 0;    // elements beyond their bound, or non-finite where they must not be
  std::vector<Worst> worst;  // one a tensor
  std::string broken_tier;   // the loosest tier that is broken, for kFailed by a bound
  std::vector<std::string> remarks;  // of checks: what no result can show
  std::string blame;                 // the stage that broke, where and how, in words; kFailed
  std::string source;  // where that stage is written: "kernels/mla_decode/stage2.hpp:88"; or empty
  int schedules = 1;   // that the case ran under, up to the first that gave this verdict
  Evidence evidence;
  std::vector<Spread> spreads;       // one a tensor
  std::vector<FaultMap> fault_maps;  // of tensors with wrong elements
  std::string contract;              // that it was judged by: to_text(Contract)
  double kernel_ms = 0;              // launch to end of synchronize, host clock; 0: not measured
};

struct Tally {
  std::int64_t passed = 0, suspect = 0, vacuous = 0, failed = 0, flaky = 0, crashed = 0, hung = 0,
               skipped = 0, infra = 0, xfail = 0, xpass = 0;
  bool interrupted = false;  // stopped before every selected case ran
  void add(Status status);
  void remove(Status status);  // that was added
  std::int64_t total() const;
};

// 0 all passed; 1 failed, crashed, hung, flaky, xpass; 3 incomplete; 4 infrastructure; 5 proves too
// little. Precedence 1 > 4 > 3 > 5 > 0. Usage errors (2) end before anything runs and never reach
// here.
int exit_code(const Tally& tally);

}  // namespace attest

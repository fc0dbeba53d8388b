// Property: what must hold between launches of one kernel on related inputs, or of one launch
// alone, without an oracle that says what the numbers are. To add one: a file here, a line in
// catalog.cpp, a row in README.md.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/output.hpp"
#include "harness/core/poison.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

// How alike two results must be.
enum class Promise {
  kBitEqual,
  kWithinBound,  // each may be off by its own bound
};

// What one right output may be off by: T0 of the reference for these inputs, and the last rounding.
struct Radii {
  std::vector<double> o;    // [rows, 512]
  std::vector<double> lse;  // [rows]
};

// What was in the memory of a launch before it.
enum class Earlier {
  kLaunched,  // another ran, and outputs and workspaces are as it left them
  kCaptured,  // another was captured and replayed: what runs is its graph, on what is there now
};

// What a property may do. Every run of a case is by one instance of the kernel, with the memory
// that its launcher has.
class Lab {
 public:
  virtual ~Lab() = default;
  virtual const Kernel& kernel() const = 0;
  virtual Result<Inputs> generate(const Case& c, std::uint16_t poison = kPoison16) = 0;
  // Outputs and workspaces hold `poison` before. Of the case only the problem and the schedule
  // count.
  virtual Result<Output> run(const Case& c, const Inputs& inputs,
                             std::uint16_t poison = kPoison16) = 0;
  // The same in memory where `before` was before. To be replayed, both have the same sequences and
  // query tokens; their lengths differ.
  virtual Result<Output> run_after(Earlier earlier, const Case& before, const Inputs& before_inputs,
                                   const Case& c, const Inputs& inputs) = 0;
  virtual Result<Radii> radii(const Problem& problem, const Inputs& inputs) = 0;
};

// What a property found. Memory that any run damaged is the harness's to see.
struct Checked {
  std::int64_t compared = 0;   // elements
  std::int64_t wrong = 0;      // of them
  std::int64_t unbounded = 0;  // not compared, as their bound is infinite
  std::string
      kind;  // differs, wrong, nonfinite, unwritten, overwritten; empty when nothing is wrong
  std::string
      pattern;  // the judge's words: element, columns, split, row, head, sequence, all, scattered
  Worst worst;  // at its place in the case's own problem; `expected` is what it was compared with
  std::string words;  // what was launched, where the token alone does not say
};

class Property {
 public:
  virtual ~Property() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view statement() const = 0;  // what holds, one line
  // The strictest that a kernel of this contract is held to.
  virtual Promise promise(const Contract& contract) const = 0;
  // Why the property says nothing about the case; empty when it applies. The kernel takes the
  // case's problem.
  virtual std::string why_not(const Case& c, const Kernel& kernel) const = 0;
  // Whether it says nothing where the device alone chooses the order of its work.
  virtual bool needs_schedules() const { return false; }
  // Only where it applies.
  virtual Result<Checked> check(const Case& c, Lab& lab) const = 0;
};

std::span<const Property* const> all_properties();  // catalog.cpp
const Property* find_property(std::string_view name);

}  // namespace attest

// Session: the memory of a kernel on a device, which outlives a launch. Inputs are written in
// place; outputs and workspaces hold poison before a launch, or what the last one left. The first
// trouble sticks: later calls do nothing, and collect() returns it.
#pragma once
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "harness/bench.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/output.hpp"

namespace attest {

// Bytes of what a kernel writes.
struct OutputSizes {
  std::size_t o = 0, lse = 0, partial_o = 0, partial_lse = 0;
};
OutputSizes output_sizes(const Kernel& kernel, const Problem& problem);
OutputSizes larger_of(const OutputSizes& a, const OutputSizes& b);  // each the larger

class Session {
 public:
  Session(const Kernel& kernel, Device& device, std::uint16_t poison)
      : kernel_(kernel), device_(device), poison_(poison), bench_(device, poison) {}

  // Buffers for each of `inputs` in turn, which are stored alike, and for outputs of these sizes;
  // all hold poison.
  void open(const std::string& code_objects, std::initializer_list<const Inputs*> inputs,
            const OutputSizes& sizes);
  // Writes the inputs over those that were there. Pages that are not used any more hold poison.
  void write(const Inputs& inputs);

  // What the next launch finds in outputs and workspaces: poison before the first one; before each
  // later one call one.
  void poison_outputs();
  void leave_outputs();  // as they are

  // `problem` fits into the buffers.
  void launch(const Problem& problem);
  Graph capture(const Problem& problem);
  void replay(Graph graph, const Problem& problem);

  // What outputs and workspaces hold now, in the layout of `problem`; no look at anything else.
  Output read(const Problem& problem);
  // The same after a launch, with what it changed and must not: guard zones, pads, inputs, and what
  // lies behind the outputs of `problem`.
  Result<Output> collect(const Problem& problem, const Inputs& inputs);

  bool failed() const { return bench_.failed(); }
  const Trouble& trouble() const { return bench_.trouble(); }

 private:
  // The buffers as a launch of `problem` sees them: outputs and workspaces end with its last row.
  MlaTensors tensors_of(const Problem& problem) const;
  void write_pool(const Inputs& inputs);
  Output parse(const Problem& problem, std::vector<std::string>& damage);
  void find_changed_inputs(const Inputs& inputs, std::vector<std::string>& damage);
  void find_written_tails(const Problem& problem, std::vector<std::string>& damage);
  Trouble trouble_with_reports();
  // What a launch may do to each buffer, for a device that checks it.
  void describe_inputs(const Inputs& inputs);
  void describe_outputs(const Problem& problem);
  template <class Run>
  void timed(const Run& run);

  const Kernel& kernel_;
  Device& device_;
  std::uint16_t poison_, kv_poison_ = poison_;
  Bench bench_;
  Module module_;
  MlaTensors tensors_;
  double kernel_ms_ = 0;
  std::vector<Extent> used_;  // of kv
  // Of o, lse, partial_o and partial_lse, whole; none: they were poisoned.
  std::optional<std::array<std::vector<std::uint16_t>, 4>> left_;
};

}  // namespace attest

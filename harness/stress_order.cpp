#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/poison.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/stress_bits.hpp"
#include "harness/stress_parts.hpp"

namespace attest {
namespace {

// kernels/disturb/mla_decode_*.hip.
constexpr std::array kOrders = {"forward", "reverse", "seeded"};

// A kernel in another build of its code object: mla_decode.gfx942.co as
// mla_decode_forward.gfx942.co.
class OtherBuild final : public Kernel {
 public:
  OtherBuild(const Kernel& kernel, std::string_view order)
      : kernel_(kernel.fresh()), order_(order) {}

  std::string_view name() const override { return kernel_->name(); }
  std::string_view summary() const override { return kernel_->summary(); }
  Contract contract(const Problem& problem) const override { return kernel_->contract(problem); }
  Contract contract_for(const Problem& problem, std::string_view target) const override {
    return kernel_->contract_for(problem, target);
  }
  std::string why_unsupported(const Problem& problem) const override {
    return kernel_->why_unsupported(problem);
  }
  int num_splits(const Problem& problem) const override { return kernel_->num_splits(problem); }
  std::string code_object(std::string_view target) const override {
    std::string name = kernel_->code_object(target);
    return name.insert(std::min(name.find('.'), name.size()), fmt::format("_{}", order_));
  }
  std::unique_ptr<Kernel> fresh() const override {
    return std::make_unique<OtherBuild>(*kernel_, order_);
  }
  bool can_be_captured() const override { return kernel_->can_be_captured(); }
  SourcePlace source(std::string_view stage, std::string_view target) const override {
    return kernel_->source(stage, target);
  }
  Outcome launch(Device& device, Module module, const Problem& problem,
                 const MlaTensors& tensors) const override {
    return kernel_->launch(device, module, problem, tensors);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::string order_;
};

// One build of it, in memory of its own; every launch of it is looked at.
class Order {
 public:
  Order(const Kernel& kernel, Device& device, const Case& c, const Inputs& inputs,
        const Output& expected, const StressOptions& options)
      : device_(device),
        case_(c),
        inputs_(inputs),
        expected_(expected),
        options_(options),
        contract_(contract_on(kernel, device, c.problem)),
        subject_{kernel.name(), c.problem, contract_, kernel.num_splits(c.problem)} {}

  // Passed, or the trouble that ended it.
  Verdict run(const Kernel& build, std::string_view order, Kept& kept) const {
    Session session(build, device_, kPoison16);
    session.open(options_.verify.code_objects, {&inputs_}, output_sizes(build, case_.problem));
    session.write(inputs_);
    for (int launch = 1; launch <= options_.count; ++launch) {
      const std::string place =
          fmt::format("in the order '{}', launch {} of {}", order, launch, options_.count);
      session.poison_outputs();
      session.launch(case_.problem);
      const auto output = session.collect(case_.problem, inputs_);
      Verdict verdict =
          output.ok() ? look_at(build, *output) : verdict_of(output.trouble(), build.name());
      if (output.ok()) kept.looked_at(elements_of(*output));
      if (goes_on(verdict)) continue;
      say_where(place, "", verdict);
      if (!output.ok()) return verdict;
      kept.broken(std::move(verdict));
    }
    return passed();
  }

 private:
  Verdict look_at(const Kernel& build, const Output& output) const {
    const auto difference = bit_difference(subject_, output, expected_);
    if (contract_.run_to_run_bitwise && difference) {
      return verdict_of_difference(subject_, inputs_, output, *difference, "order",
                                   options_.verify);
    }
    if (!contract_.run_to_run_bitwise || !output.damage.empty()) {
      return judged(build, device_, case_, inputs_, output, options_.verify);
    }
    return passed();
  }

  Device& device_;
  const Case& case_;
  const Inputs& inputs_;
  const Output& expected_;
  const StressOptions& options_;
  const Contract contract_;
  const Subject subject_;
};

}  // namespace

Verdict stress_order(const Kernel& kernel, Device& device, const Case& c,
                     const StressOptions& options) {
  Verdict all = verdict_of_support(kernel, c, false);
  if (all.status == Status::kSkipped) return all;
  const auto inputs = generate(c, walk_of(kernel, c.problem), options.verify.threads);
  if (!inputs.ok()) return verdict_of(inputs.trouble(), kernel.name());
  const auto expected = execute(*kernel.fresh(), device, options.verify.code_objects, c, *inputs);
  if (!expected.ok()) return verdict_of(expected.trouble(), kernel.name());
  all = judged(kernel, device, c, *inputs, *expected, options.verify);
  if (!goes_on(all)) return all;
  Kept kept("launches");
  for (const std::string_view order : kOrders) {
    const OtherBuild build(kernel, order);
    const Order launches(kernel, device, c, *inputs, *expected, options);
    Verdict ended = launches.run(build, order, kept);
    if (goes_on(ended) || kept.is_broken()) continue;
    if (ended.status == Status::kInfra) {
      ended.reason += "; attest has builds in forced order of its own kernels alone, beside them";
    }
    return ended;
  }
  if (kept.is_broken()) return kept.verdict();
  all.checked += kept.elements();
  all.remarks.push_back(
      fmt::format("{} launches in each of {} orders", options.count, kOrders.size()));
  return all;
}

}  // namespace attest

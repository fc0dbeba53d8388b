#include "harness/verify_property.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "fuzz/properties/property.hpp"
#include "harness/bucket.hpp"
#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/session.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

class KernelLab final : public Lab {
 public:
  KernelLab(const Kernel& kernel, Device& device, const VerifyOptions& options)
      : kernel_(kernel), device_(device), options_(options) {}

  const Kernel& kernel() const override { return kernel_; }

  Result<Inputs> generate(const Case& c, std::uint16_t poison) override {
    begin("generate");
    return attest::generate(c, walk_of(kernel_, c.problem), options_.threads, poison);
  }

  Result<Output> run(const Case& c, const Inputs& inputs, std::uint16_t poison) override {
    ATTEST_CHECK(kernel_.why_unsupported(c.problem).empty());
    begin("execute");
    auto output = execute(kernel_, device_, options_.code_objects, c, inputs, poison);
    if (output.ok() && damage_.empty()) damage_ = output->damage;
    return output;
  }

  Result<Output> run_after(Earlier earlier, const Case& before, const Inputs& before_inputs,
                           const Case& c, const Inputs& inputs) override {
    begin("execute");
    Session session(kernel_, device_, kPoison16);
    session.open(
        options_.code_objects, {&before_inputs, &inputs},
        larger_of(output_sizes(kernel_, before.problem), output_sizes(kernel_, c.problem)));
    device_.set_schedule(c.schedule);
    session.write(before_inputs);
    if (earlier == Earlier::kCaptured) {
      const Graph graph = session.capture(before.problem);
      session.replay(graph, before.problem);
      session.write(inputs);
      session.poison_outputs();
      session.replay(graph, c.problem);
    } else {
      session.launch(before.problem);
      session.leave_outputs();
      session.write(inputs);
      session.launch(c.problem);
    }
    auto output = session.collect(c.problem, inputs);
    if (output.ok() && damage_.empty()) damage_ = output->damage;
    return output;
  }

  Result<Radii> radii(const Problem& problem, const Inputs& inputs) override {
    begin("reference");
    const Contract contract = contract_on(kernel_, device_, problem);
    const auto wanted = reference(problem, inputs, contract, kernel_.num_splits(problem),
                                  {.threads = options_.threads, .detail = Detail::kT0});
    if (!wanted.ok()) return wanted.trouble();
    const Bound& t0 = wanted->tiers.t0;
    const double roundings = contract.arithmetic.o_truncates ? 2 : 1;  // in units of half an ulp
    Radii radii{{}, {t0.lse.begin(), t0.lse.end()}};  // of an fp32 the last rounding is in T0
    radii.o.reserve(t0.o.size());
    for (std::size_t i = 0; i < t0.o.size(); ++i) {
      const double largest = std::abs(wanted->expected.o[i]) + t0.o[i];
      radii.o.push_back(t0.o[i] + roundings * half_ulp_bf16(largest));
    }
    return radii;
  }

  const std::vector<std::string>& damage() const { return damage_; }  // of the first run with any

 private:
  void begin(std::string_view stage) const {
    if (options_.at_stage) options_.at_stage(stage);
  }

  const Kernel& kernel_;
  Device& device_;
  const VerifyOptions& options_;
  std::vector<std::string> damage_;
};

std::string values_text(const Worst& at, bool bf16_partials) {
  const bool bf16 = at.tensor == "o" || (at.tensor == "partial_o" && bf16_partials);
  const int digits = bf16 ? 4 : 8;
  std::string text = fmt::format("{:.9g} (0x{:0{}x}) against {:.9g} (0x{:0{}x})", at.actual,
                                 at.actual_bits, digits, at.expected, at.expected_bits, digits);
  if (at.bound > 0) {
    text += fmt::format(", error {:.3g}, bound {:.3g}, ratio {:.3g}", at.error, at.bound, at.ratio);
  }
  return text;
}

std::string reason_of(const Kernel& kernel, const Property& property, const Problem& problem,
                      const Checked& checked) {
  const Worst& at = checked.worst;
  const bool bf16_partials = kernel.contract(problem).arithmetic.bf16_partials;
  std::string reason =
      fmt::format("{}: {} ({}): {} {} at {}: {}; {} of {} elements, pattern {}", kernel.name(),
                  property.name(), property.statement(), at.tensor, checked.kind, place_text(at),
                  values_text(at, bf16_partials), checked.wrong, checked.compared, checked.pattern);
  if (!checked.words.empty()) reason += "; " + checked.words;
  return reason;
}

Verdict verdict_on(const Kernel& kernel, const Property& property, const Problem& problem,
                   const Checked& checked, const std::vector<std::string>& damage) {
  Verdict verdict;
  verdict.checked = checked.compared;
  verdict.wrong = checked.wrong;
  if (!checked.worst.tensor.empty()) verdict.worst = {checked.worst};
  const auto fail = [&](std::string_view kind, std::string_view pattern, std::string reason) {
    verdict.status = Status::kFailed;
    verdict.bucket = fmt::format("{}.{}.{}.{}", property.name(), kind, pattern, kernel.name());
    verdict.reason = std::move(reason);
  };
  if (!damage.empty() && damage.front().starts_with("check ")) {
    fail({}, {}, fmt::format("{}: {}", kernel.name(), fmt::join(damage, "\n")));
    verdict.bucket = to_string(bucket_of_damage(damage.front(), kernel.name()));
  } else if (!damage.empty()) {
    fail("damage", "all",
         fmt::format("{}: {}: {}", kernel.name(), property.name(), fmt::join(damage, "\n")));
  } else if (!checked.kind.empty()) {
    fail(checked.kind, checked.pattern, reason_of(kernel, property, problem, checked));
  } else if (checked.compared == 0 || checked.unbounded > 0) {
    verdict.status = Status::kVacuous;
    verdict.reason = fmt::format("{}: {} elements were compared, and the bound of {} is infinite",
                                 property.name(), checked.compared, checked.unbounded);
  } else {
    verdict.status = Status::kPassed;
  }
  return verdict;
}

}  // namespace

Verdict verify_property(const Kernel& kernel, Device& device, const Case& c,
                        const VerifyOptions& options) {
  const Property* const property = find_property(c.property);
  ATTEST_CHECK(property != nullptr);
  std::string why = property->why_not(c, kernel);
  if (property->needs_schedules() && !device.is_emulated()) {
    why = fmt::format("{} chooses its own schedule", device.name());
  }
  if (!why.empty()) {
    Verdict verdict;
    verdict.status = Status::kSkipped;
    verdict.reason = fmt::format("{}: {} says nothing of it: {}", kernel.name(), c.property, why);
    return verdict;
  }
  KernelLab lab(kernel, device, options);
  const auto checked = property->check(c, lab);
  if (!checked.ok()) return verdict_of(checked.trouble(), kernel.name());
  return verdict_on(kernel, *property, c.problem, *checked, lab.damage());
}

}  // namespace attest

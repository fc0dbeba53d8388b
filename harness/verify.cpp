#include "harness/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "fuzz/distributions/distribution.hpp"
#include "harness/evidence.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/judge.hpp"
#include "harness/second_look.hpp"
#include "harness/verify_property.hpp"
#include "reference/certify.hpp"
#include "reference/explain.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

Tier tier_named(std::string_view name) {
  constexpr Tier kTiers[] = {Tier::kT0, Tier::kT1, Tier::kT2, Tier::kT2p};
  const auto* const found = std::find_if(std::begin(kTiers), std::end(kTiers),
                                         [&](Tier t) { return to_string(t) == name; });
  return found == std::end(kTiers) ? Tier::kT0 : *found;
}

// The kernel runs before the reference, so that nothing that the reference computes can lie in the
// kernel's memory.
Verdict verify_supported(const Kernel& kernel, Device& device, const Case& c,
                         const VerifyOptions& options) {
  if (c.property != kOracle) return verify_property(kernel, device, c, options);
  const auto begin = [&](std::string_view stage) {
    if (options.at_stage) options.at_stage(stage);
  };
  begin("generate");
  const Walk walk = walk_of(kernel, c.problem);
  const auto inputs = generate(c, walk, options.threads);
  if (!inputs.ok()) return verdict_of(inputs.trouble(), kernel.name());

  begin("execute");
  const auto output = execute(kernel, device, options.code_objects, c, *inputs);
  if (!output.ok()) return verdict_of(output.trouble(), kernel.name());

  begin("reference");
  Contract contract = kernel.contract(c.problem);
  contract.arithmetic.matrix_unit = device.matrix_unit();
  ReferenceOptions of_output{.threads = options.threads};
  if (contract.arithmetic.schedule_declared) of_output.observed = {output->o};
  auto wanted = reference(c.problem, *inputs, contract, walk.num_splits, of_output);
  if (!wanted.ok()) return verdict_of(wanted.trouble(), kernel.name());
  escalate(c.problem, *inputs, contract, *wanted, options.threads);

  const auto explain = [&](const Worst& at) {
    const RowBounds bounds(c.problem, *inputs, contract, walk.num_splits, row_of(c.problem, at));
    const Tier tier = tier_named(at.tier);
    return (at.column < 0 ? bounds.lse(tier, at.split) : bounds.o(tier, at.split, at.column)).terms;
  };
  begin("judge");
  const Subject subject{kernel.name(), c.problem, contract, walk.num_splits,
                        find_distribution(c.distribution)->blind_to()};
  Verdict verdict = judge(subject, *output, *wanted, explain);
  if (options.at_judgement) options.at_judgement({subject, *output, *wanted});
  second_look(subject, *inputs, *output, *wanted, verdict);
  begin("evidence");
  prove(subject, *inputs, *output, *wanted, verdict);
  if (options.certify) {
    certify_pass(subject, *inputs, *output, *wanted, c.seed.value, verdict);
  }
  return verdict;
}

}  // namespace

Verdict verdict_of(const Trouble& trouble, std::string_view kernel) {
  Verdict verdict;
  verdict.reason = fmt::format("{}: {}", kernel, trouble.text);
  switch (trouble.kind) {
    case TroubleKind::kCrashed:
      verdict.status = Status::kCrashed;
      break;
    case TroubleKind::kHung:
      verdict.status = Status::kHung;
      break;
    case TroubleKind::kUsage:
    case TroubleKind::kInfra:
      verdict.status = Status::kInfra;
      break;
  }
  return verdict;
}

Verdict verify(const Kernel& kernel, Device& device, const Case& c, const VerifyOptions& options) {
  if (const std::string why = kernel.why_unsupported(c.problem); !why.empty()) {
    Verdict verdict;
    verdict.status = Status::kSkipped;
    verdict.reason = fmt::format("{} does not take it: {}", kernel.name(), why);
    return verdict;
  }
  try {
    return verify_supported(*kernel.fresh(), device, c, options);
  } catch (const std::bad_alloc&) {
    return verdict_of({TroubleKind::kInfra, "out of memory on the host"}, kernel.name());
  }
}

}  // namespace attest

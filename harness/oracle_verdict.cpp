#include "harness/oracle_verdict.hpp"

#include <algorithm>

#include "harness/judge.hpp"
#include "harness/second_look.hpp"
#include "reference/certify.hpp"
#include "reference/explain.hpp"
#include "reference/gpu/gpu_reference.hpp"

namespace attest {
namespace {

Tier tier_named(std::string_view name) {
  constexpr Tier kTiers[] = {Tier::kT0, Tier::kT1, Tier::kT2, Tier::kT2p};
  const auto* const found = std::find_if(std::begin(kTiers), std::end(kTiers),
                                         [&](Tier t) { return to_string(t) == name; });
  return found == std::end(kTiers) ? Tier::kT0 : *found;
}

std::vector<BoundTerm> terms_at(const Subject& s, const Inputs& inputs, const Worst& at) {
  const RowBounds bounds(s.problem, inputs, s.contract, s.num_splits, row_of(s.problem, at));
  const Tier tier = tier_named(at.tier);
  return (at.column < 0 ? bounds.lse(tier, at.split) : bounds.o(tier, at.split, at.column)).terms;
}

// Opens the device where it pays.
Outcome choose_device(const Problem& problem, const VerifyOptions& options, ReferenceOptions& of) {
  const ReferenceDevice& device = options.reference_device;
  if (!device.open || block_tokens(problem) < device.from_tokens) return Done{};
  const auto opened = device.open();
  if (!opened.ok()) return opened.trouble();
  of.device = *opened;
  of.tokens_for_device = device.from_tokens;
  return Done{};
}

}  // namespace

// The unit of CDNA3 sums fp8 in another way than bf16.
MatrixUnit unit_for(MatrixUnit unit, Storage q) {
  return q == Storage::kFp8 && unit == MatrixUnit::kCdna3Bf16 ? MatrixUnit::kCdna3Fp8 : unit;
}

Contract contract_on(const Kernel& kernel, const Device& device, const Problem& problem) {
  Contract contract = kernel.contract_for(problem, device.target());
  contract.arithmetic.matrix_unit = unit_for(device.matrix_unit(), problem.q_type);
  return contract;
}

Result<OracleVerdict> oracle_verdict(const Subject& s, const Inputs& inputs, const Output& output,
                                     const VerifyOptions& options) {
  ReferenceOptions of_output{.threads = options.threads};
  if (Outcome chosen = choose_device(s.problem, options, of_output); !chosen.ok()) {
    return chosen.trouble();
  }
  if (options.at_stage) {
    options.at_stage(of_output.device == nullptr ? "reference" : "ref " + of_output.device->name());
  }
  if (s.contract.arithmetic.schedule_declared) of_output.observed = {output.o};
  auto wanted = reference(s.problem, inputs, s.contract, s.num_splits, of_output);
  if (!wanted.ok()) return wanted.trouble();
  escalate(s.problem, inputs, s.contract, *wanted, options.threads);

  if (options.at_stage) options.at_stage("judge");
  OracleVerdict made{{}, std::move(*wanted)};
  made.verdict =
      judge(s, output, made.wanted, [&](const Worst& at) { return terms_at(s, inputs, at); });
  if (options.at_judgement) options.at_judgement({s, output, made.wanted});
  second_look(s, inputs, output, made.wanted, made.verdict);
  if (!made.wanted.device.empty() && !made.verdict.blame.empty()) {
    made.verdict.blame += "; the reference's sums are of " + made.wanted.device;
  }
  return made;
}

}  // namespace attest

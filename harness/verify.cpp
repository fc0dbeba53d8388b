#include "harness/verify.hpp"

#include <fmt/format.h>

#include <new>
#include <optional>

#include "fuzz/distributions/distribution.hpp"
#include "harness/bucket.hpp"
#include "harness/evidence.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/second_look.hpp"
#include "harness/source_of.hpp"
#include "harness/split_order.hpp"
#include "harness/trajectory.hpp"
#include "harness/verify_property.hpp"

namespace attest {
namespace {

// The problem, its inputs and the output as they are judged.
Problem as_judged(const Contract& contract, const Problem& problem, int num_splits, Inputs& inputs,
                  Output& output) {
  if (contract.split_rule.dealt_tile == 0) return problem;
  forget_masked_splits(problem, contract.split_rule, num_splits, output);
  InSplitOrder made = in_split_order(problem, contract.split_rule, num_splits, std::move(inputs));
  inputs = std::move(made.inputs);
  return std::move(made.problem);
}

// Empty when the case can be judged where tiles go round the splits.
std::string why_not_in_split_order(const Kernel& kernel, const Case& c) {
  if (kernel.contract(c.problem).split_rule.dealt_tile == 0) return "";
  if (c.steps.empty() && c.property == kOracle) return "";
  return "its splits take tiles in turn: it is judged on single launches by the oracle alone";
}

// Empty when the kernel can take every step of a trajectory.
std::string why_not_captured(const Kernel& kernel, const Case& c) {
  if (kernel.can_be_captured() || c.steps.find("capture") == std::string::npos) return "";
  return "its launcher reads or writes memory from the host: no graph can be captured of it";
}

// The kernel runs before the reference, so that nothing that the reference computes can lie in the
// kernel's memory.
Verdict verify_supported(const Kernel& kernel, Device& device, const Case& c,
                         const VerifyOptions& options) {
  if (!c.steps.empty()) return verify_trajectory(kernel, device, c, options);
  if (c.property != kOracle) return verify_property(kernel, device, c, options);
  const auto begin = [&](std::string_view stage) {
    if (options.at_stage) options.at_stage(stage);
  };
  begin("generate");
  const Walk walk = walk_of(kernel, c.problem);
  auto inputs = generate(c, walk, options.threads);
  if (!inputs.ok()) return verdict_of(inputs.trouble(), kernel.name());

  begin("execute");
  auto output = execute(kernel, device, options.code_objects, c, *inputs);
  if (!output.ok()) return verdict_of(output.trouble(), kernel.name());

  const Contract contract = contract_on(kernel, device, c.problem);
  const Problem judged_problem = as_judged(contract, c.problem, walk.num_splits, *inputs, *output);
  const Subject subject{kernel.name(), judged_problem, contract, walk.num_splits,
                        find_distribution(c.distribution)->blind_to()};
  auto judged = oracle_verdict(subject, *inputs, *output, options);
  if (!judged.ok()) return verdict_of(judged.trouble(), kernel.name());
  auto& [verdict, wanted] = *judged;
  begin("evidence");
  prove(subject, *inputs, *output, wanted, verdict);
  if (options.certify) {
    certify_pass(subject, *inputs, *output, wanted, c.seed.value, options.threads, verdict);
  }
  return verdict;
}

// Whether other sums could have made it right: a crash, a race or a machine without memory they
// could not.
bool is_of_numbers(const Verdict& v) {
  return v.status == Status::kSuspect || (v.status == Status::kFailed && v.wrong > 0);
}

// A pass under all, or what is wrong under any; a number that is wrong under some alone is suspect.
Verdict verify_ariths(const Kernel& kernel, Device& device, const Case& c,
                      const VerifyOptions& options) {
  std::optional<Verdict> first, wrong;
  std::string right_under, wrong_under;
  for (const Arith arith : options.ariths) {
    device.set_arith(arith);
    Verdict verdict = verify_supported(*kernel.fresh(), device, c, options);
    const bool is_wrong = is_of_numbers(verdict);
    if (!is_wrong && (is_finding(verdict.status) || verdict.status == Status::kInfra)) {
      device.set_arith(options.ariths.front());
      verdict.reason = fmt::format("under the arithmetic {}: {}", to_string(arith), verdict.reason);
      return verdict;
    }
    std::string& names = is_wrong ? wrong_under : right_under;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", to_string(arith));
    if (!first) first = verdict;
    if (is_wrong && !wrong) wrong = std::move(verdict);
  }
  device.set_arith(options.ariths.front());
  if (!wrong) return *first;
  if (right_under.empty()) return *wrong;
  wrong->reason = fmt::format("{}: right under the arithmetic {} alone, not under {}, where: {}",
                              kernel.name(), right_under, wrong_under, wrong->reason);
  wrong->status = Status::kSuspect;
  wrong->bucket = to_string(Bucket{"suspect", "arith", "all", std::string(kernel.name())});
  return *wrong;
}

Verdict verify_under(const Kernel& kernel, Device& device, const Case& c,
                     const VerifyOptions& options) {
  if (options.ariths.size() > 1) return verify_ariths(kernel, device, c, options);
  if (!options.ariths.empty()) device.set_arith(options.ariths.front());
  return verify_supported(*kernel.fresh(), device, c, options);
}

}  // namespace

Verdict verdict_of(const Trouble& trouble, std::string_view kernel) {
  Verdict verdict;
  verdict.reason = fmt::format("{}: {}", kernel, trouble.text);
  verdict.status = Status::kInfra;
  if (is_of_kernel(trouble.kind)) {
    verdict.status = trouble.kind == TroubleKind::kHung ? Status::kHung : Status::kCrashed;
    verdict.bucket = to_string(bucket_of(trouble, kernel));
  }
  return verdict;
}

Verdict verify(const Kernel& kernel, Device& device, const Case& c, const VerifyOptions& options) {
  std::string why = kernel.why_unsupported(c.problem);
  if (why.empty()) why = why_not_in_split_order(kernel, c);
  if (why.empty()) why = why_not_captured(kernel, c);
  if (!why.empty()) {
    Verdict verdict;
    verdict.status = Status::kSkipped;
    verdict.reason = fmt::format("{} does not take it: {}", kernel.name(), why);
    return verdict;
  }
  try {
    Verdict verdict = verify_under(kernel, device, c, options);
    verdict.source = source_of(kernel, verdict, device.target());
    return verdict;
  } catch (const std::bad_alloc&) {
    return verdict_of({TroubleKind::kInfra, "out of memory on the host"}, kernel.name());
  }
}

}  // namespace attest

#include "harness/stress.hpp"

#include <fmt/format.h>

#include "harness/oracle_verdict.hpp"
#include "harness/stress_parts.hpp"

namespace attest {

std::string why_not_stressed(const Case& c) {
  if (!c.steps.empty()) return "stress makes its own steps; leave out steps=";
  if (c.property != kOracle) return "stress is judged by the oracle and by bits; leave out prop=";
  if (c.problem.shared_prefix != 0) {
    return "rows change their places, and so share no prefix; leave out prefix=";
  }
  return {};
}

Verdict verdict_of_support(const Kernel& kernel, const Case& c, bool captures) {
  std::string why = kernel.why_unsupported(c.problem);
  if (why.empty() && kernel.contract(c.problem).split_rule.dealt_tile != 0) {
    why = "its splits take tiles in turn: it is judged on single launches alone";
  }
  if (why.empty() && captures && !kernel.can_be_captured()) {
    why = "its launcher reads or writes memory from the host: no graph can be captured of it";
  }
  Verdict verdict = passed();
  if (why.empty()) return verdict;
  verdict.status = Status::kSkipped;
  verdict.reason = fmt::format("{} does not take it: {}", kernel.name(), why);
  return verdict;
}

Verdict judged(const Kernel& kernel, const Device& device, const Case& c, const Inputs& inputs,
               const Output& output, const VerifyOptions& options) {
  const Contract contract = contract_on(kernel, device, c.problem);
  const Subject subject{kernel.name(), c.problem, contract, kernel.num_splits(c.problem)};
  auto verdict = oracle_verdict(subject, inputs, output, options);
  return verdict.ok() ? std::move(verdict->verdict) : verdict_of(verdict.trouble(), kernel.name());
}

void say_where(const std::string& place, std::string_view stage, Verdict& verdict) {
  verdict.reason = place + ": " + verdict.reason;
  if (!verdict.bucket.empty()) verdict.bucket = std::string(stage) + verdict.bucket;
}

Verdict Kept::verdict() const {
  Verdict verdict = *first_;
  verdict.checked += elements_;
  verdict.reason += fmt::format("; {} of {} {} fail", broken_, of_, what_);
  return verdict;
}

std::int64_t elements_of(const Output& output) {
  return std::ssize(output.o) + std::ssize(output.lse) + std::ssize(output.partial_o) +
         std::ssize(output.partial_lse);
}

}  // namespace attest

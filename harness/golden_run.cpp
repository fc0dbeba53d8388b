#include "harness/golden_run.hpp"

#include <fmt/format.h>

#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/golden_make.hpp"
#include "harness/judge.hpp"
#include "harness/oracle_verdict.hpp"

namespace attest {
namespace {

// The file's values in place of the reference's, whose bounds stay.
Reference with_values(Reference reference, const GoldenCase& golden) {
  Expected& expected = reference.expected;
  for (std::size_t i = 0; i < expected.o.size(); ++i) {
    expected.o[i] = golden.o_hi[i] + golden.o_lo[i];
  }
  for (std::size_t i = 0; i < expected.lse.size(); ++i) {
    expected.lse[i] = golden.lse_hi[i] + golden.lse_lo[i];
  }
  return reference;
}

// As the oracle says, and where the file has values, as they say.
Result<Verdict> judged(const GoldenCase& golden, const GoldenInputs& from, const Kernel& kernel,
                       Device& device, const VerifyOptions& options) {
  const Problem& p = from.c.problem;
  const auto output = execute(*kernel.fresh(), device, options.code_objects, from.c, from.inputs);
  if (!output.ok()) {
    if (is_of_kernel(output.trouble().kind)) return verdict_of(output.trouble(), kernel.name());
    return Trouble{TroubleKind::kInfra, output.trouble().text};  // a code object that is not there
  }
  const Contract contract = contract_on(kernel, device, p);
  const Subject subject{kernel.name(), p, contract, kernel.num_splits(p)};
  auto by_oracle = oracle_verdict(subject, from.inputs, *output, options);
  if (!by_oracle.ok()) return by_oracle.trouble();
  if (is_failure(by_oracle->verdict.status) || !golden.has_values()) return by_oracle->verdict;
  return judge(subject, *output, with_values(std::move(by_oracle->wanted), golden));
}

bool loses_device(const Verdict& verdict, const Device& device) {
  const bool stopped = verdict.status == Status::kCrashed || verdict.status == Status::kHung;
  return stopped && !device.is_emulated();
}

}  // namespace

Result<GoldenRun> run_golden(const GoldenFile& file, Device& device, const VerifyOptions& options) {
  GoldenRun run;
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    const GoldenCase& golden = file.cases[i];
    const auto from = inputs_of_golden(golden, options.threads);
    if (!from.ok()) return from.trouble();
    const Kernel& kernel = *find_kernel(from->c.kernel);
    const bool is_dealt = kernel.contract(from->c.problem).split_rule.dealt_tile != 0;
    if (is_dealt || !kernel.why_unsupported(from->c.problem).empty()) {
      ++run.skipped;
      continue;
    }
    const auto verdict = judged(golden, *from, kernel, device, options);
    if (!verdict.ok()) {
      return Trouble{verdict.trouble().kind,
                     fmt::format("{}: {}", golden.token, verdict.trouble().text)};
    }
    run.elements += verdict->checked;
    if (is_finding(verdict->status)) {
      run.disagreements.push_back({golden.token, verdict->reason});
    } else {
      ++run.passed;
      run.by_values += golden.has_values();
    }
    if (!loses_device(*verdict, device)) continue;
    run.left = static_cast<int>(file.cases.size() - i - 1);
    break;
  }
  return run;
}

}  // namespace attest

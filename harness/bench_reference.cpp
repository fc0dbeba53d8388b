#include "harness/bench_reference.hpp"

#include <chrono>

#include "harness/core/check.hpp"
#include "harness/evidence.hpp"
#include "harness/strawmen.hpp"
#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"

namespace attest {

std::string_view to_string(ReferenceWork work) {
  switch (work) {
    case ReferenceWork::kPlain:
      return "plain";
    case ReferenceWork::kT0:
      return "T0";
    case ReferenceWork::kT1:
      return "T0, T1";
    case ReferenceWork::kT2:
      return "T0, T2, T2p";
    case ReferenceWork::kT2Scored:
      return "T0, T2, T2p, scores";
    case ReferenceWork::kProved:
      return "T0, T2, T2p, scores, visibility, strawmen";
  }
  return "?";
}

Result<ReferenceSpeed> bench_reference(ReferenceWork work, int tokens, int num_splits,
                                       int threads) {
  Problem problem;
  problem.s_kv = {tokens};
  auto inputs = small_inputs(problem, Family::kNormal, 1);
  if (!inputs) return inputs.trouble();
  Contract contract;
  contract.arithmetic.tile_tokens = 16;
  contract.arithmetic.waves_per_split = 4;
  const bool scored = work == ReferenceWork::kT2Scored || work == ReferenceWork::kProved;
  contract.arithmetic.schedule_declared = scored || work == ReferenceWork::kT2;
  const Subject subject{"bench", problem, contract, num_splits, {}};
  ReferenceOptions options{.threads = threads};
  Output output;
  if (scored) {  // what a kernel without any error of its own leaves
    const auto exact = reference(problem, *inputs, contract, num_splits, options);
    if (!exact) return exact.trouble();
    output = exact_output(subject, *exact);
    options.observed = {output.o};
  }
  if (work == ReferenceWork::kPlain) options.detail = Detail::kPlain;
  if (work == ReferenceWork::kT0) options.detail = Detail::kT0;
  const auto start = std::chrono::steady_clock::now();
  const auto result = reference(problem, *inputs, contract, num_splits, options);
  if (!result) return result.trouble();
  if (work == ReferenceWork::kProved) {
    Verdict verdict;
    verdict.status = Status::kPassed;
    prove(subject, *inputs, output, *result, verdict);
    ATTEST_CHECK(verdict.evidence.strawmen.size() > 4);  // or what was timed is not the work
  }
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return ReferenceSpeed{spent.count(), tokens / spent.count()};
}

}  // namespace attest

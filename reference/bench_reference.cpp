#include "reference/bench_reference.hpp"

#include <chrono>

#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"

namespace attest {

Result<ReferenceSpeed> bench_reference(int tokens, int threads) {
  Problem problem;
  problem.s_kv = {tokens};
  auto inputs = small_inputs(problem, Family::kNormal, 1);
  if (!inputs) return inputs.trouble();
  const auto start = std::chrono::steady_clock::now();
  const auto result = reference(problem, *inputs, Contract{}, 1, {.threads = threads});
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (!result) return result.trouble();
  return ReferenceSpeed{threads, spent.count(), tokens / spent.count()};
}

}  // namespace attest

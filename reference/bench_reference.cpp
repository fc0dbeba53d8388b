#include "reference/bench_reference.hpp"

#include <chrono>

#include "harness/core/formats.hpp"
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
  contract.arithmetic.schedule_declared =
      work == ReferenceWork::kT2 || work == ReferenceWork::kT2Scored;
  ReferenceOptions options{.threads = threads};
  if (work == ReferenceWork::kPlain) options.detail = Detail::kPlain;
  if (work == ReferenceWork::kT0) options.detail = Detail::kT0;
  const std::vector<std::uint16_t> output(problem.rows() * kDV, encode_bf16(0.01));
  if (work == ReferenceWork::kT2Scored) options.observed = {output};
  const auto start = std::chrono::steady_clock::now();
  const auto result = reference(problem, *inputs, contract, num_splits, options);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  if (!result) return result.trouble();
  return ReferenceSpeed{spent.count(), tokens / spent.count()};
}

}  // namespace attest

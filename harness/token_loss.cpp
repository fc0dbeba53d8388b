#include "harness/token_loss.hpp"

#include <cmath>

namespace attest {

RowWeights::RowWeights(const Problem& problem, const Inputs& inputs, std::int64_t row)
    : problem_(problem), view_(problem, inputs, row) {
  for (int d = 0; d < kDQk; ++d) q_[d] = view_.q(d);
}

double RowWeights::logit(int token) const {
  constexpr int kChains = 8;  // additions that do not wait for each other
  double sums[kChains] = {};
  const std::uint16_t* const k = view_.k_row(token);
  for (int d = 0; d < kDQk; d += kChains) {
    for (int c = 0; c < kChains; ++c) sums[c] += double{q_[d + c]} * decode_bf16(k[d + c]);
  }
  double dot = 0;
  for (const double sum : sums) dot += sum;
  return problem_.sm_scale * dot;
}

double RowWeights::weight(TokenRange tokens, double lse) const {
  const TokenRange seen = view_.seen(tokens);
  double sum = 0;
  for (int j = seen.begin; j < seen.end; ++j) sum += std::exp(logit(j) - lse);
  return sum;
}

std::array<double, kDV> RowWeights::weighted_values(TokenRange tokens, double lse) const {
  const TokenRange seen = view_.seen(tokens);
  std::array<double, kDV> sum = {};
  for (int j = seen.begin; j < seen.end; ++j) {
    const double weight = std::exp(logit(j) - lse);
    const std::uint16_t* const v = view_.k_row(j);
    for (int d = 0; d < kDV; ++d) sum[d] += weight * decode_bf16(v[d]);
  }
  return sum;
}

}  // namespace attest

#include "harness/token_loss.hpp"

#include <cmath>

namespace attest {

RowWeights::RowWeights(const Problem& problem, const Inputs& inputs, std::int64_t row)
    : problem_(problem), view_(problem, inputs, row) {
  for (int d = 0; d < kDQk; ++d) q_[d] = view_.q_code(d);
}

double RowWeights::logit(int token) const {
  constexpr int kChains = 8;  // additions that do not wait for each other
  double sums[kChains] = {};
  std::array<float, kDQk> k;
  view_.k_codes(token).read(kDQk, k.data());
  for (int d = 0; d < kDQk; d += kChains) {
    for (int c = 0; c < kChains; ++c) sums[c] += double{q_[d + c]} * k[d + c];
  }
  double dot = 0;
  for (const double sum : sums) dot += sum;
  return problem_.logit_scale() * dot;
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
    std::array<float, kDV> v;
    view_.k_codes(j).read(kDV, v.data());
    for (int d = 0; d < kDV; ++d) sum[d] += weight * (view_.kv_scale() * v[d]);
  }
  return sum;
}

}  // namespace attest

// The second, dumber oracle: one row, one token after another, as flash decoding is taught. In fp64
// it checks reference(); in fp32 it shows what a kernel without any rounding of P would give.
#pragma once
#include <cmath>
#include <limits>
#include <vector>

#include "reference/row_view.hpp"

namespace attest {

template <class Real>
struct RowResult {
  std::vector<Real> o = std::vector<Real>(kDV, Real(0));  // [512]
  Real lse = -std::numeric_limits<Real>::infinity();
};

// Over the tokens of `tokens` that the row sees; none: o = 0, lse = -inf.
template <class Real>
RowResult<Real> online_softmax(const Problem& problem, const Inputs& inputs, std::int64_t row,
                               TokenRange tokens) {
  const RowView view(problem, inputs, row);
  const auto [begin, end] = view.seen(tokens);
  RowResult<Real> result;
  Real largest = -std::numeric_limits<Real>::infinity(), l = 0;
  for (int j = begin; j < end; ++j) {
    Real dot = 0;
    for (int d = 0; d < kDQk; ++d) dot += Real(view.q(d)) * Real(view.k(j, d));
    const Real x = Real(problem.sm_scale) * dot;
    const Real now = x > largest ? x : largest;
    const Real fade = std::exp(largest - now), w = std::exp(x - now);
    l = l * fade + w;
    for (int d = 0; d < kDV; ++d) result.o[d] = result.o[d] * fade + w * Real(view.k(j, d));
    largest = now;
  }
  if (begin == end) return result;
  for (Real& o : result.o) o /= l;
  result.lse = largest + std::log(l);
  return result;
}

}  // namespace attest

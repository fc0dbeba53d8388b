// What the loss of tokens does to the results of one row. A weight a lost moves lse by log1p(-a),
// and o by (a o - sum a_j v_j) / (1 - a): o without these tokens, divided by the weight that is
// left.
#pragma once
#include <array>
#include <cstdint>

#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "reference/row_view.hpp"

namespace attest {

// The weights of tokens in one row, by one dot product each.
class RowWeights {
 public:
  RowWeights(const Problem& problem, const Inputs& inputs, std::int64_t row);

  const RowView& view() const { return view_; }
  double logit(int token) const;  // x_j
  // sum_j e^{x_j - lse} over `tokens` that the row sees.
  double weight(TokenRange tokens, double lse) const;
  // sum_j e^{x_j - lse} v_j
  std::array<double, kDV> weighted_values(TokenRange tokens, double lse) const;

 private:
  const Problem& problem_;
  RowView view_;
  std::array<float, kDQk> q_;  // without its descale factor
};

// By how much o moves when `weight` is lost, `lost` of which is in o.
inline double o_moves(double o, double weight, double lost) {
  return (weight * o - lost) / (1 - weight);
}

}  // namespace attest

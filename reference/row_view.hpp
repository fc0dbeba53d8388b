// One row's view of a case, element by element: what the slow paths read. tile.cpp does not use it,
// so that a mistake in addressing on either side shows as a difference.
#pragma once
#include <algorithm>
#include <cstdint>

#include "harness/core/check.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/elements.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"

namespace attest {

class RowView {
 public:
  RowView(const Problem& problem, const Inputs& inputs, std::int64_t row)
      : problem_(problem), inputs_(inputs) {
    ATTEST_CHECK(row >= 0 && row < problem.rows());
    const std::int64_t token = row / problem.h_q;
    while (inputs.qo_indptr[sequence_ + 1] <= token) ++sequence_;
    visible_ = problem.visible(sequence_, static_cast<int>(token - inputs.qo_indptr[sequence_]));
    q_ = inputs.q_elements() +
         (token * problem.q_stride_t() + row % problem.h_q * problem.q_stride_h());
  }

  int sequence() const { return sequence_; }
  int visible() const { return visible_; }
  // Values: exact, as a code of fp8 has 4 significand bits and its descale factor 24.
  double q(int d) const { return double{q_[d]} * problem_.q_scale; }
  double k(int token, int d) const { return k_codes(token)[d] * kv_scale(); }  // v, for d < 512
  // What the codes of q and of the cache stand for without their descale factors.
  float q_code(int d) const { return q_[d]; }
  double kv_scale() const { return problem_.kv_scale; }
  Elements k_codes(int token) const {  // [576]; V is its first 512
    const std::int64_t entry = inputs_.kv_indptr[sequence_] + token / problem_.page_size;
    const std::int64_t slot =
        std::int64_t{inputs_.kv_indices[entry]} * problem_.page_size + token % problem_.page_size;
    return inputs_.kv_elements() + slot * kDQk;
  }
  // The part of `tokens` that the row sees.
  TokenRange seen(TokenRange tokens) const {
    return {std::min(tokens.begin, visible_), std::min(tokens.end, visible_)};
  }

 private:
  const Problem& problem_;
  const Inputs& inputs_;
  int sequence_ = 0, visible_ = 0;
  Elements q_;
};

}  // namespace attest

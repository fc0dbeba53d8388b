// One row's view of a case, element by element: what the slow paths read. tile.cpp does not use it,
// so that a mistake in addressing on either side shows as a difference.
#pragma once
#include <algorithm>
#include <cstdint>

#include "harness/core/check.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/formats.hpp"
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
    q_ = inputs.q.data<std::uint16_t>() + token * problem.q_stride_t() +
         row % problem.h_q * problem.q_stride_h();
  }

  int sequence() const { return sequence_; }
  int visible() const { return visible_; }
  float q(int d) const { return decode_bf16(q_[d]); }
  const std::uint16_t* k_row(int token) const {  // [576] bf16; V is its first 512
    const std::int64_t entry = inputs_.kv_indptr[sequence_] + token / problem_.page_size;
    const std::int64_t slot =
        std::int64_t{inputs_.kv_indices[entry]} * problem_.page_size + token % problem_.page_size;
    return inputs_.kv.data<std::uint16_t>() + slot * kDQk;
  }
  float k(int token, int d) const { return decode_bf16(k_row(token)[d]); }  // and v, for d < 512
  // The part of `tokens` that the row sees.
  TokenRange seen(TokenRange tokens) const {
    return {std::min(tokens.begin, visible_), std::min(tokens.end, visible_)};
  }

 private:
  const Problem& problem_;
  const Inputs& inputs_;
  int sequence_ = 0, visible_ = 0;
  const std::uint16_t* q_ = nullptr;
};

}  // namespace attest

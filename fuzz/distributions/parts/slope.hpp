// Logits that rise or fall by 30 nats in equal steps along the sequence, with V in [1, 2).
#pragma once
#include <algorithm>

#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {

enum class Slope { kUp, kDown };

template <Slope kSlope>
class SlopeSampler : public Sampler {
 public:
  SlopeSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem), lengths_(problem), seed_(seed), top_k_(k_of(30, problem.sm_scale)) {}

  void fill_q(int, int token, int head, Row row) const override {
    clear(row);
    row[kDV] = row[kDV + 1] = encode_bf16(along_of_row(problem_, token, head));
  }

  void fill_kv(int owner, int token, Row row) const override {
    fill_one_to_two(stream_of(seed_, Tensor::kKv, owner, token), row.first(kDV));
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row.subspan(kDV));
    // Sequences with a common prefix take steps of one height, or the prefix would have two
    // contents.
    const int last = std::max(1, lengths_.of(owner) - 1);
    const int steps = kSlope == Slope::kUp ? token : last - token;
    put_sum(row.subspan(kDV, 2), top_k_ * steps / last);
  }

 private:
  const Problem problem_;
  const Lengths lengths_;
  const Seed seed_;
  const double top_k_;
};

}  // namespace attest

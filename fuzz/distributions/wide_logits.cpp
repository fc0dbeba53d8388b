#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class WideLogitsSampler : public Sampler {
 public:
  WideLogitsSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem), seed_(seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
    // A sum of 576 products of N(0,1) has a standard deviation of 24.
    const int nats = 2 + index_of(problem_, token, head) % 3;
    scale_all(row, kQAlong * k_of(nats, problem_.sm_scale) / 24);
  }
  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
  }

 private:
  const Problem problem_;
  const Seed seed_;
};

}  // namespace

const Distribution& wide_logits_distribution() {
  static const DistributionOf<WideLogitsSampler> kInstance{
      "wide_logits",
      "k, v ~ N(0,1), logits of 2, 3 and 4 nats by row: few tokens carry a row; sees P's small "
      "values lost, a scale off"};
  return kInstance;
}

}  // namespace attest

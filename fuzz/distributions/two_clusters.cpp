// Two clusters: a token has one of two latents, by a coin, so that a row has two logits and all
// tokens of a cluster the same P and the same V: their roundings are equal, and add up where those
// of random data average out. q looks along the latents alone; the RoPE dims of K, which it does
// not see, differ by token.
#include <algorithm>

#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class TwoClustersSampler : public Sampler {
 public:
  TwoClustersSampler(const Problem&, const Walk&, Seed seed) : seed_(seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
    clear(row.subspan(kDV));
  }
  void fill_kv(int owner, int token, Row row) const override {
    const std::uint64_t cluster = stream_of(seed_, Tensor::kPlan, owner).bits(token) % 2;
    fill_normal(stream_of(seed_, Tensor::kPlan, -2, static_cast<std::int64_t>(cluster)),
                row.first(kDV));
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row.subspan(kDV));
  }

 private:
  Seed seed_;
};

}  // namespace

const Distribution& two_clusters_distribution() {
  static const DistributionOf<TwoClustersSampler> kInstance{
      "two_clusters",
      "half the tokens share one latent, half another, in random order: two logits a row; sees "
      "roundings of P that add "
      "up, a token taken for another"};
  return kInstance;
}

}  // namespace attest

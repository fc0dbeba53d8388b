#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class NormalSampler : public Sampler {
 public:
  NormalSampler(const Problem&, const Walk&, Seed seed) : seed_(seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
  }
  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
  }

 private:
  Seed seed_;
};

}  // namespace

const Distribution& normal_distribution() {
  static const DistributionOf<NormalSampler> kInstance{
      "normal",
      "q, k, v ~ N(0,1): what other tests use; sees gross errors of layout, scale and heads"};
  return kInstance;
}

}  // namespace attest

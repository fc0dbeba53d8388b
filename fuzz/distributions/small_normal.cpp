#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class SmallNormalSampler : public Sampler {
 public:
  SmallNormalSampler(const Problem&, const Walk&, Seed seed) : seed_(seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
    scale_all(row, 0.1);
  }
  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
    scale_all(row, 0.1);
  }

 private:
  Seed seed_;
};

}  // namespace

const Distribution& small_normal_distribution() {
  static const DistributionOf<SmallNormalSampler> kInstance{
      "small_normal",
      "q, k, v ~ 0.1 N(0,1), as FlashMLA's tests have it: weights nearly equal, o tiny; sees what "
      "an absolute tolerance accepts"};
  return kInstance;
}

}  // namespace attest

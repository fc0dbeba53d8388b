#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class UniformLogitsSampler : public Sampler {
 public:
  UniformLogitsSampler(const Problem&, const Walk&, Seed seed) : seed_(seed) {}
  void fill_q(int, int, int, Row row) const override { clear(row); }
  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
  }

 private:
  Seed seed_;
};

}  // namespace

const Distribution& uniform_logits_distribution() {
  static const DistributionOf<UniformLogitsSampler> kInstance{
      "uniform_logits",
      "q = 0: o is the mean of V and lse is ln L exactly; sees a wrong length, count or mask"};
  return kInstance;
}

}  // namespace attest

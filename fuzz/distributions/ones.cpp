#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

class OnesSampler : public Sampler {
 public:
  OnesSampler(const Problem& problem, const Walk&, Seed seed) : logits_(problem, seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    logits_.fill_q(sequence, token, head, row);
  }
  void fill_kv(int owner, int token, Row row) const override {
    logits_.fill_kv(owner, token, row);
    std::fill_n(row.begin(), kDV, encode_bf16(1));
  }

 private:
  const RopeNormal logits_;
};

}  // namespace

const Distribution& ones_distribution() {
  static const DistributionOf<OnesSampler> kInstance{
      "ones",
      "V = 1, logits ~ N(0,1): o is 1 whatever the weights; sees numerator and denominator that "
      "sum different weights"};
  return kInstance;
}

}  // namespace attest

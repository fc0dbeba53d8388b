#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class PositiveSampler : public Sampler {
 public:
  PositiveSampler(const Problem& problem, const Walk&, Seed seed)
      : logits_(problem, seed), seed_(seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    logits_.fill_q(sequence, token, head, row);
  }
  void fill_kv(int owner, int token, Row row) const override {
    logits_.fill_kv(owner, token, row);
    fill_one_to_two(stream_of(seed_, Tensor::kKv, owner, token), row.first(kDV));
  }

 private:
  const RopeNormal logits_;
  const Seed seed_;
};

}  // namespace

const Distribution& positive_distribution() {
  static const DistributionOf<PositiveSampler> kInstance{
      "positive",
      "V in [1,2), logits ~ N(0,1): no sign averages an error away; sees one-sided rounding, a "
      "gain"};
  return kInstance;
}

}  // namespace attest

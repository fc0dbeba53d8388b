// Column scales: V's columns differ by powers of two from 2^-20 to 2^20. Columns whose numbers
// differ by a power of two never have the same scale, as 41 divides none: what swaps them is far
// beyond any bound.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class ColumnScalesSampler : public Sampler {
 public:
  ColumnScalesSampler(const Problem& problem, const Walk&, Seed seed) : logits_(problem, seed) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    logits_.fill_q(sequence, token, head, row);
  }
  void fill_kv(int owner, int token, Row row) const override {
    logits_.fill_kv(owner, token, row);
    for (int column = 0; column < kDV; ++column) {
      scale_all(row.subspan(column, 1), std::ldexp(1.0, column * 17 % 41 - 20));
    }
  }

 private:
  const RopeNormal logits_;
};

}  // namespace

const Distribution& column_scales_distribution() {
  static const DistributionOf<ColumnScalesSampler> kInstance{
      "column_scales",
      "V's columns scaled by 2^-20 to 2^20, logits ~ N(0,1); sees columns swapped or strided "
      "wrongly, small columns "
      "that an absolute tolerance never checks"};
  return kInstance;
}

}  // namespace attest

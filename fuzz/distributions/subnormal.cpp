// Subnormal: elements of V, K and q below 2^-126, which a unit may flush to zero (CDNA2's matrix
// units do, CDNA3's do not). They stand among normal ones, so that o and the logits are normal and
// either treatment is far inside the bound; what reads such an element as anything but a number
// near 0 is far outside. Every eighth column of V holds nothing else.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

constexpr int kSubnormalRope = 8;  // dims of q, and as many others of k, that are subnormal

class SubnormalSampler : public Sampler {
 public:
  SubnormalSampler(const Problem& problem, const Walk&, Seed seed)
      : logits_(problem, seed), seed_(seed) {}

  void fill_q(int sequence, int token, int head, Row row) const override {
    logits_.fill_q(sequence, token, head, row);
    make_subnormal(stream_of(seed_, Tensor::kPlan, sequence, token * kMaxHeads + head),
                   row.last(kSubnormalRope));
  }

  void fill_kv(int owner, int token, Row row) const override {
    logits_.fill_kv(owner, token, row);
    const Stream stream = stream_of(seed_, Tensor::kPlan, -2 - owner, token);
    for (int column = 0; column < kDV; ++column) {
      if (column % 8 == 7 || stream.bits(1000 + column) % 2 == 0) {
        make_subnormal({stream.bits(column)}, row.subspan(column, 1));
      }
    }
    make_subnormal(stream, row.last(2 * kSubnormalRope).first(kSubnormalRope));
  }

 private:
  // Sign and any significand but 0, at the exponent of the subnormals.
  static void make_subnormal(Stream stream, Row elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::uint64_t bits = stream.bits(i);
      elements[i] = static_cast<std::uint16_t>((bits >> 48 & 0x8000) | (1 + bits % 127));
    }
  }

  const RopeNormal logits_;
  const Seed seed_;
};

}  // namespace

const Distribution& subnormal_distribution() {
  static const DistributionOf<SubnormalSampler> kInstance{
      "subnormal",
      "bf16-subnormal elements of q, K and V among normal ones; sees them decoded as something "
      "large or NaN"};
  return kInstance;
}

}  // namespace attest

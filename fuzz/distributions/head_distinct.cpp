// Head distinct: the latent part of q is +-A, with the signs of a row of the Hadamard matrix of
// order 512: the q of any two of 512 rows are orthogonal, and o is tilted by A * sm_scale * Var(k)
// along the row's signs at any context length, so that half of the columns change sign where two
// rows are mixed up. Each sequence's logits are raised by its own number of nats, so that a swap of
// sequences shows in lse.
#include <bit>

#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

class HeadDistinctSampler : public Sampler {
 public:
  HeadDistinctSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem),
        seed_(seed),
        // Logits of 2 nats: |q|^2 = 512 A^2, k ~ N(0,1). Positive, so that rows keep their signs.
        a_(encode_bf16(kQAlong * std::abs(k_of(2 / std::sqrt(512.0), problem.sm_scale)))) {}

  void fill_q(int sequence, int token, int head, Row row) const override {
    clear(row);
    const auto pattern =
        static_cast<unsigned>(index_of(problem_, token, head) + 37 * sequence) % kDV;
    for (unsigned d = 0; d < kDV; ++d) {
      const bool negative = std::popcount(pattern & d) % 2 == 1;
      row[d] = static_cast<std::uint16_t>(a_ | (negative ? 0x8000 : 0));
    }
    row[kDV] = encode_bf16(kQAlong);
  }

  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
    const int nats = owner == kPrefixOwner ? 0 : 1 + owner % 16;
    row[kDV] = encode_bf16(k_of(nats, problem_.sm_scale));
  }

 private:
  const Problem problem_;
  const Seed seed_;
  const std::uint16_t a_;
};

}  // namespace

const Distribution& head_distinct_distribution() {
  static const DistributionOf<HeadDistinctSampler> kInstance{
      "head_distinct",
      "orthogonal q for every row, logits raised by 1 to 16 nats by sequence; sees heads, query "
      "tokens or sequences "
      "mixed up, in one split too"};
  return kInstance;
}

}  // namespace attest

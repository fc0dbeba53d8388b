// Alternating: V of neighbouring tokens is +1 and -1, each off by 1 %, at equal logits. o is about
// 0.01 / sqrt(L) of the 1 that is summed: what is absolute, relative or a cosine in a tolerance
// shows its limits. The logits are equal but not 0, so that lse depends on row and scale.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

class AlternatingSampler : public Sampler {
 public:
  AlternatingSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem), seed_(seed) {}

  void fill_q(int, int token, int head, Row row) const override {
    clear(row);
    row[kDV] = encode_bf16(along_of_row(problem_, token, head));
  }

  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
    const double sign = token % 2 == 0 ? 1 : -1;
    for (std::uint16_t& v : row.first(kDV)) v = encode_bf16(sign * (1 + 0.01 * decode_bf16(v)));
    row[kDV] = encode_bf16(k_of(4, problem_.sm_scale));
  }

 private:
  const Problem problem_;
  const Seed seed_;
};

}  // namespace

const Distribution& alternating_distribution() {
  static const DistributionOf<AlternatingSampler> kInstance{
      "alternating",
      "V alternates +-1 (1 + 1 %) at equal logits: o is tiny against what is summed; sees a token "
      "lost or doubled, "
      "sums that lose low bits"};
  return kInstance;
}

}  // namespace attest

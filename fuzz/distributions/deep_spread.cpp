// Deep spread: most logits lie 84 to 105 nats below the max, where exp2 gives 2^-121 to 2^-151: the
// last normal numbers of fp32, its denormals, and 0. One token of a tile is at the max; in every
// other split (every other tile, where there is one split) none is, so that whole tiles have
// denormal P, and merge weights are denormal too.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

class DeepSpreadSampler : public Sampler {
 public:
  DeepSpreadSampler(const Problem& problem, const Walk& walk, Seed seed)
      : problem_(problem),
        noise_(problem, seed),
        places_(problem, walk),
        last_tokens_(problem),
        seed_(seed) {}

  void fill_q(int sequence, int token, int head, Row row) const override {
    noise_.fill_q(sequence, token, head, row);
    row[kDV] = row[kDV + 1] = encode_bf16(kQAlong);
  }

  void fill_kv(int owner, int token, Row row) const override {
    noise_.fill_kv(owner, token, row);
    const double nats =
        on_top(owner, token) ? 0 : -84 - 21 * stream_of(seed_, Tensor::kPlan, owner).uniform(token);
    put_sum(row.subspan(kDV, 2), k_of(nats, problem_.sm_scale));
  }

 private:
  bool on_top(int owner, int token) const {
    if (last_tokens_.contains(owner, token)) return true;
    const WalkPlace at = places_.at(owner, token);
    if ((at.splits > 1 ? at.split : at.tile) % 2 == 1) return false;
    const Stream plan = stream_of(seed_, Tensor::kPlan, owner, token - at.offset);
    return static_cast<int>(plan.bits(0) % at.tokens) == at.offset;
  }

  const Problem problem_;
  const RopeNormal noise_;
  const WalkPlaces places_;
  const LastTokens last_tokens_;
  const Seed seed_;
};

}  // namespace

const Distribution& deep_spread_distribution() {
  static const DistributionOf<DeepSpreadSampler> kInstance{
      "deep_spread",
      "most logits 84 to 105 nats below the max: P and merge weights at and under 2^-126; sees exp "
      "that goes wrong "
      "there"};
  return kInstance;
}

}  // namespace attest

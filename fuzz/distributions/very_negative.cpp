// Very negative: rows whose logits are all near -10^4 nats, and rows in which every other split
// (every other tile, where there is one split) is 10^4 or 110 nats below its neighbours. e^-104 is
// under the smallest fp32: such a split weighs 0, and must not be NaN.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

constexpr double kDeep = 1e4;
// Nats of a row's even and odd splits: (first, first + second).
constexpr double kKinds[][2] = {{-kDeep, 0}, {-kDeep, kDeep}, {0, -kDeep}, {0, -110}};

class VeryNegativeSampler : public Sampler {
 public:
  VeryNegativeSampler(const Problem& problem, const Walk& walk, Seed seed)
      : problem_(problem),
        noise_(problem, seed),
        places_(problem, walk),
        last_tokens_(problem),
        lengths_(problem) {}

  void fill_q(int sequence, int token, int head, Row row) const override {
    noise_.fill_q(sequence, token, head, row);
    const double* const nats = kKinds[index_of(problem_, token, head) % 4];
    row[kDV] = encode_bf16(k_of(nats[0], problem_.sm_scale));
    row[kDV + 1] = encode_bf16(k_of(nats[1], problem_.sm_scale));
    row[kDV + 2] = encode_bf16(kQAlong);
  }

  void fill_kv(int owner, int token, Row row) const override {
    noise_.fill_kv(owner, token, row);
    const WalkPlace at = places_.at(owner, token);
    const bool odd = (at.splits > 1 ? at.split : at.tile) % 2 == 1;
    row[kDV] = encode_bf16(kQAlong);
    row[kDV + 1] = encode_bf16(odd ? kQAlong : 0);
    // The last tokens weigh as much as all others: more than the rounding of logits of 10^4 nats.
    const double nats = last_tokens_.contains(owner, token) ? std::log(lengths_.of(owner)) : 0;
    row[kDV + 2] = encode_bf16(k_of(nats, problem_.sm_scale));
  }

 private:
  const Problem problem_;
  const RopeNormal noise_;
  const WalkPlaces places_;
  const LastTokens last_tokens_;
  const Lengths lengths_;
};

}  // namespace

const Distribution& very_negative_distribution() {
  static const DistributionOf<VeryNegativeSampler> kInstance{
      "very_negative",
      "logits near -1e4 nats, alone or beside splits at 0, and lse gaps over 104 nats; sees 0/0, "
      "-inf - (-inf), a max "
      "that starts at 0"};
  return kInstance;
}

}  // namespace attest

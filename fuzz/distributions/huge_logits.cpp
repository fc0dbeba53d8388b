// Huge logits: those of a row lie around H = 1000 .. 10000 nats, spread by one, so that exp
// overflows unless the max is subtracted. Every eighth token has -H: its weight is 0. The bound is
// honestly larger here (a logit of 10^4 nats is rounded by 6e-4 in fp32), so the last tokens weigh
// as much as all others: what is lost with them is far above it.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

class HugeLogitsSampler : public Sampler {
 public:
  HugeLogitsSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem),
        noise_(problem, seed),
        last_tokens_(problem),
        lengths_(problem),
        seed_(seed) {}

  void fill_q(int sequence, int token, int head, Row row) const override {
    noise_.fill_q(sequence, token, head, row);
    // 1000, 2154, 4642, 10000; k is kQAlong there.
    const double nats = 1000 * std::pow(10, (index_of(problem_, token, head) % 4) / 3.0);
    row[kDV] = encode_bf16(k_of(nats, problem_.sm_scale));
    row[kDV + 1] = encode_bf16(kQAlong);
  }

  void fill_kv(int owner, int token, Row row) const override {
    noise_.fill_kv(owner, token, row);
    const bool last = last_tokens_.contains(owner, token);
    const bool flipped = !last && stream_of(seed_, Tensor::kPlan, owner).bits(token) % 8 == 0;
    row[kDV] = encode_bf16(flipped ? -kQAlong : kQAlong);
    const double nats = last ? std::log(lengths_.of(owner)) : 0;
    row[kDV + 1] = encode_bf16(k_of(nats, problem_.sm_scale));
  }

 private:
  const Problem problem_;
  const RopeNormal noise_;
  const LastTokens last_tokens_;
  const Lengths lengths_;
  const Seed seed_;
};

}  // namespace

const Distribution& huge_logits_distribution() {
  static const DistributionOf<HugeLogitsSampler> kInstance{
      "huge_logits",
      "logits of +-1e3 to +-1e4 nats; sees a max that is not subtracted, exp overflow, narrow "
      "score or lse formats"};
  return kInstance;
}

}  // namespace attest

// One-hot rows, for reading a wrong element off by eye. V of token t has a single 1, at column
// t + 64 (owner + 1) + seed (mod 512), or -1 in every other block of 512 tokens; so an element of o
// is the weight of the tokens that share its column: of one token, up to 512. Row (query token i,
// head h) has its only q in RoPE dim (i * h_q + h) mod 64, and token t its only RoPE k in dim
// t mod 64: the tokens that match stand 3 nats above the others, all of which have logit 0.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

constexpr double kMatchNats = 3;

class OneHotSampler : public Sampler {
 public:
  OneHotSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem), seed_(seed), k_(encode_bf16(k_of(kMatchNats, problem.sm_scale))) {}
  void fill_q(int, int token, int head, Row row) const override {
    clear(row);
    const int index = index_of(problem_, token, head);
    // Rows that share a dim differ in height, so that no two heads are alike.
    const float along = kQAlong * (1 + 0.125f * static_cast<float>(index / kDRope));
    row[kDV + index % kDRope] = encode_bf16(along);
  }
  void fill_kv(int owner, int token, Row row) const override {
    clear(row);
    const std::uint64_t column = token + 64 * (owner + 1) + seed_.value % kDV;
    row[column % kDV] = encode_bf16(token / kDV % 2 == 0 ? 1 : -1);
    row[kDV + token % kDRope] = k_;
  }

 private:
  const Problem problem_;
  const Seed seed_;
  const std::uint16_t k_;
};

}  // namespace

const Distribution& one_hot_distribution() {
  static const DistributionOf<OneHotSampler> kInstance{
      "one_hot",
      "V has a single 1 a token, q and k a single dim: each element of o is the weight of one "
      "token, to be read by eye"};
  return kInstance;
}

}  // namespace attest

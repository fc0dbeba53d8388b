// Rescale steps: the maxima of a split's tiles climb three steps of 8 log2 units (8 ln 2 nats), the
// threshold of the kernels that rescale lazily, with steps down and back in between. The score that
// a kernel forms in fp32, q.k times fp32(sm_scale * log2 e), meets a multiple of 8 exactly, or the
// fp32 number beside it, so that both sides of the comparison and equality occur. Rows see the
// steps at 8, 4 (two of them make 8) and 16 log2 units. A peak weighs as much as all that came
// before it, or V in [1, 2) would hide a wrong factor.
#include <algorithm>
#include <limits>

#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

constexpr double kLog2E = 1.4426950408889634074;
constexpr float kStep = 8;    // log2 units
constexpr int kPlateaus = 4;  // of a split's tiles, one step above each other

class RescaleStepsSampler : public Sampler {
 public:
  RescaleStepsSampler(const Problem& problem, const Walk& walk, Seed seed)
      : problem_(problem),
        places_(problem, walk),
        last_tokens_(problem),
        seed_(seed),
        scale_log2_(static_cast<float>(problem.sm_scale * kLog2E)) {}

  void fill_q(int, int token, int head, Row row) const override {
    clear(row);
    constexpr float kHeights[] = {1, 0.5f, 2};  // powers of two: a score stays exact
    const float along = kQAlong * kHeights[index_of(problem_, token, head) % 3];
    std::fill_n(row.begin() + kDV, 3, encode_bf16(along));
  }

  void fill_kv(int owner, int token, Row row) const override {
    const Stream stream = stream_of(seed_, Tensor::kKv, owner, token);
    fill_one_to_two(stream, row.first(kDV));
    fill_normal(stream, row.subspan(kDV));
    put_sum(row.subspan(kDV, 3), dot_of(target(owner, token)) / kQAlong);
  }

 private:
  // The score in log2 units that a row of height 1 shall see.
  float target(int owner, int token) const {
    const WalkPlace at = places_.at(owner, token);
    // One plan for a tile, whatever its tokens.
    const Stream plan = stream_of(seed_, Tensor::kPlan, owner, token - at.offset);
    const int plateau =
        std::min(kPlateaus - 1, at.tiles > kPlateaus ? at.tile * kPlateaus / at.tiles : at.tile);
    const bool starts_plateau =
        at.tiles <= kPlateaus || (at.tile * kPlateaus) % at.tiles < kPlateaus;
    const bool one_down = !starts_plateau && plan.bits(0) % 2 == 0 && at.tile + 1 < at.tiles;
    const float level = kStep * static_cast<float>(plateau - one_down);
    const int peak =
        at.tile + 1 == at.tiles ? at.tokens - 1 : static_cast<int>(plan.bits(1) % at.tokens);
    if (at.offset != peak && !last_tokens_.contains(owner, token)) {
      return level - kStep * (1 + 0.25f * static_cast<float>(plan.uniform(8 + at.offset)));
    }
    const auto away = static_cast<int>(plan.bits(2) % 3);  // 0: the multiple itself
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    if (level == 0 || away == 0) return level;  // the numbers beside 0 are no step's neighbours
    return std::nextafter(level, away == 1 ? kInfinity : -kInfinity);
  }

  // The fp32 q.k whose product with sm_scale * log2 e is nearest to `target`.
  double dot_of(float target) const {
    constexpr double kLargest = 0x1p64;  // where sm_scale is tiny
    if (scale_log2_ == 0) return 0;
    const double dot = std::clamp(double{target} / scale_log2_, -kLargest, kLargest);
    return static_cast<float>(dot);
  }

  const Problem problem_;
  const WalkPlaces places_;
  const LastTokens last_tokens_;
  const Seed seed_;
  const float scale_log2_;
};

}  // namespace

const Distribution& rescale_steps_distribution() {
  static const DistributionOf<RescaleStepsSampler> kInstance{
      "rescale_steps",
      "tile maxima step by 8 log2 units exactly, or an ulp beside, up and down; sees a lazy "
      "rescale's wrong threshold, "
      "P beyond 1 that saturates"};
  return kInstance;
}

}  // namespace attest

// Periodic: a negative control. All pages of a sequence hold the same, and logits repeat with the
// kernel's tiles: a page or tile read in another's place changes nothing, and roundings repeat, so
// that they add up instead of averaging out.
#include <algorithm>

#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"

namespace attest {
namespace {

class PeriodicSampler : public Sampler {
 public:
  PeriodicSampler(const Problem& problem, const Walk& walk, Seed seed)
      : seed_(seed),
        period_(problem.page_size > 1 ? std::min(walk.tile_tokens, problem.page_size)
                                      : walk.tile_tokens) {}
  void fill_q(int sequence, int token, int head, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
  }
  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token % period_), row);
  }

 private:
  const Seed seed_;
  const int period_;  // divides a page: both are powers of two
};

}  // namespace

const Distribution& periodic_distribution() {
  static const DistributionOf<PeriodicSampler> kInstance{
      "periodic",
      "N(0,1) that repeats with page and tile: a negative control that hides a wrong page; sees "
      "roundings that add up"};
  return kInstance;
}

}  // namespace attest

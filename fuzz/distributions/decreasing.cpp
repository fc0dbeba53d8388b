// Decreasing: the control of monotone. The first tile holds the max of all, so that nothing may be
// rescaled. What comes last weighs e^-30 of what comes first, so that without splits nobody can see
// it.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "fuzz/distributions/parts/slope.hpp"

namespace attest {

const Distribution& decreasing_distribution() {
  static const DistributionOf<SlopeSampler<Slope::kDown>> kInstance{
      "decreasing",
      "logits fall from 30 nats to 0, V in [1,2): no tile moves a max; sees a rescale that is not "
      "due, a lost start",
      {strawman::kLastTokenDropped, strawman::kOneSplitDropped}};
  return kInstance;
}

}  // namespace attest

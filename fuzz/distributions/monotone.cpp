// Monotone: logits rise from 0 to 30 nats along the sequence, so that every tile raises the running
// max and every tile must rescale what was accumulated. V in [1, 2) keeps the loss from averaging
// out.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "fuzz/distributions/parts/slope.hpp"

namespace attest {

const Distribution& monotone_distribution() {
  static const DistributionOf<SlopeSampler<Slope::kUp>> kInstance{
      "monotone",
      "logits rise from 0 to 30 nats, V in [1,2); sees a skipped, doubled or stale rescale"};
  return kInstance;
}

}  // namespace attest

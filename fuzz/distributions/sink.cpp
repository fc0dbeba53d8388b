// Sink: the first token stands 3.3 + ln(L) / 2 nats above all others, which are equal: it weighs 27
// / (27 + sqrt L), as the first token of real models does, and the P of the others is the same
// small number everywhere, so that its rounding adds up.
#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

class SinkSampler : public Sampler {
 public:
  SinkSampler(const Problem& problem, const Walk&, Seed seed)
      : problem_(problem), lengths_(problem), seed_(seed) {}

  void fill_q(int, int token, int head, Row row) const override {
    clear(row);
    row[kDV] = row[kDV + 1] = encode_bf16(along_of_row(problem_, token, head));
  }

  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
    const double nats = token == 0 ? 3.3 + 0.5 * std::log(lengths_.of(owner)) : 0;
    put_sum(row.subspan(kDV, 2), k_of(nats, problem_.sm_scale));
  }

 private:
  const Problem problem_;
  const Lengths lengths_;
  const Seed seed_;
};

}  // namespace

const Distribution& sink_distribution() {
  static const DistributionOf<SinkSampler> kInstance{
      "sink",
      "the first token 3.3 + ln(L)/2 nats above all others, which are equal; sees it dropped or "
      "counted twice, and P "
      "whose small values collapse"};
  return kInstance;
}

}  // namespace attest

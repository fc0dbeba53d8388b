// Monotone: logits rise from 0 to 30 nats along the sequence, so that every tile raises the running
// max and every tile must rescale what was accumulated. V in [1, 2) keeps the loss from averaging
// out.
#include <algorithm>
#include <cmath>

#include "fuzz/distributions/catalog.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr double kTopNats = 30;
constexpr float kQAlong = 16;
constexpr double kLargestK = 0x1p60;  // where sm_scale is tiny

class MonotoneSampler : public Sampler {
 public:
  MonotoneSampler(const Problem& problem, Seed seed) : problem_(problem), seed_(seed) {
    if (problem.sm_scale != 0) {
      top_k_ = std::clamp(kTopNats / (kQAlong * double{problem.sm_scale}), -kLargestK, kLargestK);
    }
    longest_ = *std::max_element(problem.s_kv.begin(), problem.s_kv.end());
  }

  void fill_q(int, int token, int head, std::span<std::uint16_t> row) const override {
    std::fill(row.begin(), row.end(), std::uint16_t{0});
    // Neighbouring rows rise at different rates, so that no two neighbours are alike.
    const float along = kQAlong - 0.5f * static_cast<float>((token * problem_.h_q + head) % 16);
    row[kDV] = row[kDV + 1] = encode_bf16(along);
  }

  void fill_kv(int owner, int token, std::span<std::uint16_t> row) const override {
    fill_one_to_two(stream_of(seed_, Tensor::kKv, owner, token), row.first(kDV));
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row.subspan(kDV));
    // Sequences with a common prefix rise at one rate, or the prefix would have two contents.
    const int length = problem_.shared_prefix > 0 ? longest_ : problem_.s_kv[owner];
    const double k = top_k_ * token / std::max(1, length - 1);
    const std::uint16_t high = encode_bf16(k);
    row[kDV] = high;  // two dims make steps finer than bf16's 8 bits
    row[kDV + 1] = encode_bf16(k - double{decode_bf16(high)});
  }

 private:
  const Problem problem_;
  const Seed seed_;
  double top_k_ = 0;
  int longest_ = 0;
};

class Monotone : public Distribution {
 public:
  std::string_view name() const override { return "monotone"; }
  std::string_view purpose() const override {
    return "logits rise from 0 to 30 nats, V in [1,2); sees a skipped, doubled or stale rescale";
  }
  std::unique_ptr<const Sampler> prepare(const Problem& problem, const Walk&,
                                         Seed seed) const override {
    return std::make_unique<MonotoneSampler>(problem, seed);
  }
};

}  // namespace

const Distribution& monotone_distribution() {
  static const Monotone kInstance;
  return kInstance;
}

}  // namespace attest

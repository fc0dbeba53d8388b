#include "fuzz/distributions/catalog.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

class NormalSampler : public Sampler {
 public:
  explicit NormalSampler(Seed seed) : seed_(seed) {}
  void fill_q(int sequence, int token, int head, std::span<std::uint16_t> row) const override {
    fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
  }
  void fill_kv(int owner, int token, std::span<std::uint16_t> row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
  }

 private:
  Seed seed_;
};

class Normal : public Distribution {
 public:
  std::string_view name() const override { return "normal"; }
  std::string_view purpose() const override {
    return "q, k, v ~ N(0,1): what other tests use; sees gross errors of layout, scale and heads";
  }
  std::unique_ptr<const Sampler> prepare(const Problem&, const Walk&, Seed seed) const override {
    return std::make_unique<NormalSampler>(seed);
  }
};

}  // namespace

const Distribution& normal_distribution() {
  static const Normal kInstance;
  return kInstance;
}

}  // namespace attest

#include "fuzz/distributions/catalog.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

class UniformLogitsSampler : public Sampler {
 public:
  explicit UniformLogitsSampler(Seed seed) : seed_(seed) {}
  void fill_q(int, int, int, std::span<std::uint16_t> row) const override {
    std::fill(row.begin(), row.end(), std::uint16_t{0});
  }
  void fill_kv(int owner, int token, std::span<std::uint16_t> row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
  }

 private:
  Seed seed_;
};

class UniformLogits : public Distribution {
 public:
  std::string_view name() const override { return "uniform_logits"; }
  std::string_view purpose() const override {
    return "q = 0: o is the mean of V and lse is ln L exactly; sees a wrong length, count or mask";
  }
  std::unique_ptr<const Sampler> prepare(const Problem&, const Walk&, Seed seed) const override {
    return std::make_unique<UniformLogitsSampler>(seed);
  }
};

}  // namespace

const Distribution& uniform_logits_distribution() {
  static const UniformLogits kInstance;
  return kInstance;
}

}  // namespace attest

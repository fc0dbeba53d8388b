// Powers of two change no rounding while nothing leaves the normal numbers. Inputs below 2^-45 are
// set to 0 in both launches: products are then multiples of 2^-104, and so is every partial sum.
// Source: |x| >= 2^-45 has its last bit at 2^-52 or above, a product of two at 2^-104.
#include <cmath>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"

namespace attest {
namespace {

constexpr float kSmallest = 0x1p-45f;
// Planned logits of up to 1e4 nats then have |q|, |k| < 2^40.
constexpr float kSmallestScale = 0x1p-20f, kLargestScale = 0x1p20f;

void clear_small(Numbers row) {
  for (std::uint16_t& x : row) {
    if (std::abs(decode_bf16(x)) < kSmallest) x = 0;
  }
}

class Scaled final : public Property {
 public:
  std::string_view name() const override { return "scaled"; }
  std::string_view statement() const override {
    return "q times a power of two and sm_scale divided by it give the same bits";
  }
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.run_to_run_bitwise);
  }
  std::string why_not(const Case& c, const Kernel&) const override {
    if (std::string why = why_not_numbers(c.problem); !why.empty()) return why;
    const float scale = std::abs(c.problem.sm_scale);
    const bool apt = scale >= kSmallestScale && scale <= kLargestScale;
    return apt ? "" : "sm_scale is 0 or so far from 1 that numbers may leave the normal ones";
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto drawn = lab.generate(c);
    if (!drawn.ok()) return drawn.trouble();
    Scene scene(c.problem, *drawn);
    scene.change_tokens(clear_small);
    for (Scene::Row& q : scene.q) q = scene.made(q, clear_small);
    const auto first = launch_scene(lab, c, scene);
    if (!first.ok()) return first.trouble();

    const int power = 1 + static_cast<int>(choice_of(c, 'k') % 4);
    for (Scene::Row& q : scene.q) {
      q = scene.made(q, [&](Numbers row) {
        for (std::uint16_t& x : row) x = encode_bf16(std::ldexp(decode_bf16(x), power));
      });
    }
    scene.problem.sm_scale = std::ldexp(c.problem.sm_scale, -power);
    const auto second = launch_scene(lab, c, scene);
    if (!second.ok()) return second.trouble();
    const auto ties = tie_all(c.problem, promise(lab.kernel().contract(c.problem)));
    return compare(lab, *first, *second, ties, "q times 2^" + std::to_string(power));
  }
};

}  // namespace

const Property& scaled_property() {
  static const Scaled kInstance;
  return kInstance;
}

}  // namespace attest

// The last RoPE column of K becomes 1 everywhere; what q holds there is then added to every logit.
#include <algorithm>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr double kNats[] = {100, -100, 30, -7};  // exp of the first is no fp32
constexpr int kColumn = kDQk - 1;

std::uint16_t q_for(double nats, float sm_scale) { return encode_bf16(nats / sm_scale); }

class Shifted final : public Property {
 public:
  std::string_view name() const override { return "shifted"; }
  std::string_view statement() const override {
    return "a constant added to all logits of a row: o is the same, lse is larger by it";
  }
  Promise promise(const Contract&) const override { return Promise::kWithinBound; }
  std::string why_not(const Case& c, const Kernel&) const override {
    if (std::string why = why_not_numbers(c.problem); !why.empty()) return why;
    constexpr double kLargest = 0x1p100;  // sums of |q k| must stay in fp32
    const bool possible = std::abs(kNats[0] / c.problem.sm_scale) <= kLargest;
    return possible ? "" : "no q makes such a constant at this sm_scale";
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto drawn = lab.generate(c);
    if (!drawn.ok()) return drawn.trouble();
    Scene scene(c.problem, *drawn);
    scene.change_tokens([](Numbers k) { k[kColumn] = encode_bf16(1); });
    const auto q = scene.q;
    std::vector<Tie> ties = tie_all(c.problem, Promise::kWithinBound);
    const auto with_q = [&](const Tie& tie, std::uint16_t bits) {
      scene.q[tie.base.row] =
          scene.made(q[tie.base.row], [&](Numbers row) { row[kColumn] = bits; });
    };
    for (const Tie& tie : ties) with_q(tie, 0);
    const auto first = launch_scene(lab, c, scene);
    if (!first.ok()) return first.trouble();

    const Stream stream{choice_of(c, 'c')};
    for (Tie& tie : ties) {
      const double nats = kNats[stream.bits(tie.base.row) % std::size(kNats)];
      const std::uint16_t bits = q_for(nats, c.problem.sm_scale);
      tie.lse_shift = double{c.problem.sm_scale} * decode_bf16(bits);  // exact
      with_q(tie, bits);
    }
    const auto second = launch_scene(lab, c, scene);
    if (!second.ok()) return second.trouble();
    return compare(lab, *first, *second, ties,
                   "column 575 of K is 1; that of q is 0 in one launch, a constant in the other");
  }
};

}  // namespace

const Property& shifted_property() {
  static const Shifted kInstance;
  return kInstance;
}

}  // namespace attest

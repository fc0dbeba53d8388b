// A row's cache A followed by B: its o and lse are those of A and B alone, merged in fp64 here.
//
// With x = lse_A - lse_B and s(x) = 1 / (1 + e^-x) the merge is o = s oA + (1 - s) oB. Stored oA,
// oB and lse are off by at most rA, rB, dA and dB, so x by at most d = dA + dB, and s' = s (1 - s)
// changes by at most e^d within d:
//   |s(x^) - s(x)| <= s^ (1 - s^) (e^d - 1)
//   |merge(stored) - o| <= s^ rA + (1 - s^) rB + |s^ - s| (|oA^ - oB^| + rA + rB)
//   |merge(lse stored) - lse| <= max(dA, dB), as lse is monotone in both, with weights that sum to
//   1
// and the stored o and lse of the whole are off by their own radii.
#include <algorithm>
#include <cmath>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/pieces.hpp"

namespace attest {
namespace {

// Two pieces for each query token that sees more than its sequence's cut.
std::vector<Piece> pieces_of(const Case& c) {
  std::vector<Piece> pieces;
  const Problem& p = c.problem;
  for (int seq = 0; seq < p.b(); ++seq) {
    if (p.s_kv[seq] < 2) continue;
    const int cut = 1 + static_cast<int>(choice_of(c, 1000 + seq) % (p.s_kv[seq] - 1));
    for (int i = 0; i < p.s_q[seq]; ++i) {
      const int visible = p.visible(seq, i);
      if (visible <= cut) continue;
      pieces.push_back({seq, i, {0, cut}});
      pieces.push_back({seq, i, {cut, visible}});
    }
  }
  return pieces;
}

// fp64's own rounding in what follows. Source: under 20 operations of 2^-53 each.
constexpr double kOwnRounding = 0x1p-48;

struct Near {
  double value = 0, radius = 0;
};

class Merged {
 public:
  Merged(Near lse_a, Near lse_b)
      : share_(1 / (1 + std::exp(lse_b.value - lse_a.value))),
        other_share_(1 / (1 + std::exp(lse_a.value - lse_b.value))),
        // At most all of it; in this order so for a NaN, of an infinite radius, too.
        share_off_(std::min(1.0, share_ * other_share_ * std::expm1(lse_a.radius + lse_b.radius))) {
    const double largest = std::max(lse_a.value, lse_b.value);
    lse_.value = largest + std::log1p(std::exp(std::min(lse_a.value, lse_b.value) - largest));
    lse_.radius = std::max(lse_a.radius, lse_b.radius) + kOwnRounding * (1 + std::abs(largest));
  }
  Near lse() const { return lse_; }
  Near o(Near a, Near b) const {
    const double value = share_ * a.value + other_share_ * b.value;
    const double apart = std::abs(a.value - b.value) + a.radius + b.radius;
    if (std::isinf(apart)) return {value, apart};  // a share of 0 must not make it a NaN
    return {value, share_ * a.radius + other_share_ * b.radius + share_off_ * apart +
                       kOwnRounding * (std::abs(a.value) + std::abs(b.value))};
  }

 private:
  double share_, other_share_, share_off_;  // of A and B
  Near lse_;
};

class Prefix final : public Property {
 public:
  std::string_view name() const override { return "prefix"; }
  std::string_view statement() const override {
    return "attention over A then B is the merge of attention over A and over B";
  }
  Promise promise(const Contract&) const override { return Promise::kWithinBound; }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    const auto pieces = pieces_of(c);
    if (pieces.empty()) return "no row sees two tokens, one on each side of a cut";
    return why_not_launch(problem_of(c.problem, kernel, pieces), kernel);
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto whole = launch_as_drawn(lab, c);
    if (!whole.ok()) return whole.trouble();
    const auto pieces = pieces_of(c);
    const auto parts = launch_scene(lab, c,
                                    scene_of(Scene(c.problem, whole->inputs),
                                             problem_of(c.problem, lab.kernel(), pieces), pieces));
    if (!parts.ok()) return parts.trouble();
    const auto of_whole = lab.radii(c.problem, whole->inputs);
    if (!of_whole.ok()) return of_whole.trouble();
    const auto of_parts = lab.radii(parts->c.problem, parts->inputs);
    if (!of_parts.ok()) return of_parts.trouble();

    const Outputs all(lab.kernel(), *whole), cut(lab.kernel(), *parts);
    Comparison comparison;
    for (int i = 0; i < std::ssize(pieces); i += 2) {
      for (const Tie& tie : ties_of(c.problem, pieces[i], i)) {
        compare_row(tie, all, *of_whole, cut, *of_parts, comparison);
      }
    }
    return comparison.result("each query token on both parts of its cache, merged in fp64");
  }

 private:
  static void compare_row(const Tie& tie, const Outputs& all, const Radii& of_whole,
                          const Outputs& cut, const Radii& of_parts, Comparison& comparison) {
    const std::int64_t row = tie.base.row, a = tie.other, b = a + all.problem.h_q;
    const auto lse_of = [&](std::int64_t part) {
      return Near{value_of(Format::kFp32, cut.lse(part).bits), of_parts.lse[part]};
    };
    const Merged merged(lse_of(a), lse_of(b));
    comparison.near({Part::kLse, Format::kFp32, tie.base}, all.lse(row), merged.lse().value,
                    merged.lse().radius + of_whole.lse[row]);
    for (int d = 0; d < kDV; ++d) {
      const auto o_of = [&](std::int64_t part) {
        return Near{value_of(Format::kBf16, cut.o(part, d).bits), of_parts.o[part * kDV + d]};
      };
      const Near o = merged.o(o_of(a), o_of(b));
      comparison.near({Part::kO, Format::kBf16, tie.base, -1, d}, all.o(row, d), o.value,
                      o.radius + of_whole.o[row * kDV + d]);
    }
  }
};

}  // namespace

const Property& prefix_property() {
  static const Prefix kInstance;
  return kInstance;
}

}  // namespace attest

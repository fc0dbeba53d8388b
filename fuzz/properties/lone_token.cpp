// A row that sees one token gives it all the weight: nothing else - a sink, a padding token, an
// initial max of 0 - has a share. exp2(0) is 1 exactly and so is its reciprocal to a few u, which
// the last rounding to bf16 takes away: o is V, bit for bit. Its lse is its logit.
#include <cmath>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/pieces.hpp"

namespace attest {
namespace {

// Each query token with a token of its sequence.
std::vector<Piece> pieces_of(const Case& c) {
  std::vector<Piece> pieces;
  const Problem& p = c.problem;
  for (int seq = 0; seq < p.b(); ++seq) {
    for (int i = 0; i < p.s_q[seq] && p.s_kv[seq] > 0; ++i) {
      const int token = static_cast<int>(choice_of(c, 1000 + pieces.size()) % p.s_kv[seq]);
      pieces.push_back({seq, i, {token, token + 1}});
    }
  }
  return pieces;
}

double logit(Scene::Row q, Scene::Row k, float sm_scale) {
  double dot = 0;
  for (int d = 0; d < kDQk; ++d) dot += double{decode_bf16(q[d])} * decode_bf16(k[d]);
  return dot * sm_scale;
}

// What o may be off from V: nothing, but for what a kernel declares.
double allowed_of(const Arithmetic& arithmetic, double v, double radius) {
  constexpr double kSmallestNormal = 0x1p-126;  // less may be flushed
  if (std::abs(v) < kSmallestNormal) return kSmallestNormal;
  return arithmetic.o_truncates || arithmetic.merge == Merge::kDivisionFree ? radius : 0;
}

class LoneToken final : public Property {
 public:
  std::string_view name() const override { return "lone_token"; }
  std::string_view statement() const override {
    return "a row that sees one token: o is its V exactly, lse is its logit within bound";
  }
  Promise promise(const Contract&) const override { return Promise::kWithinBound; }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    if (std::string why = why_not_numbers(c.problem); !why.empty()) return why;
    const auto pieces = pieces_of(c);
    if (pieces.empty()) return "it has no token";
    return why_not_launch(problem_of(c.problem, kernel, pieces), kernel);
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto drawn = lab.generate(c);
    if (!drawn.ok()) return drawn.trouble();
    const auto pieces = pieces_of(c);
    const Scene scene =
        scene_of(Scene(c.problem, *drawn), problem_of(c.problem, lab.kernel(), pieces), pieces);
    const auto run = launch_scene(lab, c, scene);
    if (!run.ok()) return run.trouble();
    const auto radii = lab.radii(run->c.problem, run->inputs);
    if (!radii.ok()) return radii.trouble();

    const Arithmetic arithmetic = lab.kernel().contract(run->c.problem).arithmetic;
    const Outputs outputs(lab.kernel(), *run);
    Comparison comparison;
    for (int i = 0; i < std::ssize(pieces); ++i) {
      const Scene::Row k = scene.tokens[i][0];
      for (const Tie& tie : ties_of(c.problem, pieces[i], i)) {
        comparison.near({Part::kLse, Format::kFp32, tie.base}, outputs.lse(tie.other),
                        logit(scene.q[tie.other], k, c.problem.sm_scale), radii->lse[tie.other]);
        for (int d = 0; d < kDV; ++d) {
          const double v = decode_bf16(k[d]);
          comparison.near({Part::kO, Format::kBf16, tie.base, -1, d}, outputs.o(tie.other, d), v,
                          allowed_of(arithmetic, v, radii->o[tie.other * kDV + d]));
        }
      }
    }
    return comparison.result("each query token with one token of its cache");
  }
};

}  // namespace

const Property& lone_token_property() {
  static const LoneToken kInstance;
  return kInstance;
}

}  // namespace attest

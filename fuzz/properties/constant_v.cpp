// With the same V in all tokens of a sequence o is that V, whatever the weights: they sum to 1 in a
// right kernel. T0 for these inputs is how far it may be off.
#include <algorithm>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"

namespace attest {
namespace {

class ConstantV final : public Property {
 public:
  std::string_view name() const override { return "constant_v"; }
  std::string_view statement() const override {
    return "the same V in all tokens of a sequence: o is that V";
  }
  Promise promise(const Contract&) const override { return Promise::kWithinBound; }
  std::string why_not(const Case& c, const Kernel&) const override {
    if (std::string why = why_not_numbers(c.problem); !why.empty()) return why;
    return c.problem.total_kv() == 0 ? "it has no token" : "";
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto drawn = lab.generate(c);
    if (!drawn.ok()) return drawn.trouble();
    Scene scene(c.problem, *drawn);
    for (auto& tokens : scene.tokens) {
      const Scene::Row v = tokens.empty() ? nullptr : tokens[0];
      for (Scene::Row& token : tokens) {
        token = scene.made(token, [&](Numbers k) { std::copy_n(v, kDV, k.begin()); });
      }
    }
    const auto run = launch_scene(lab, c, scene);
    if (!run.ok()) return run.trouble();
    const auto radii = lab.radii(run->c.problem, run->inputs);
    if (!radii.ok()) return radii.trouble();

    const Outputs outputs(lab.kernel(), *run);
    Comparison comparison;
    for (const RowAt& at : rows_of(c.problem)) {
      if (visible_at(c.problem, at) <= 0) continue;
      const Scene::Row v = scene.tokens[at.sequence][0];
      for (int d = 0; d < kDV; ++d) {
        comparison.near({Part::kO, Format::kBf16, at, -1, d}, outputs.o(at.row, d),
                        decode_bf16(v[d]), radii->o[at.row * kDV + d]);
      }
    }
    return comparison.result("the latent columns of all tokens are those of the first");
  }
};

}  // namespace

const Property& constant_v_property() {
  static const ConstantV kInstance;
  return kInstance;
}

}  // namespace attest

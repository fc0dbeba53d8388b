#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class Splits final : public TwiceProperty {
 public:
  Splits() : TwiceProperty("splits", "another number of splits gives the same numbers") {}
  Promise promise(const Contract&) const override { return Promise::kWithinBound; }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    return why_not_launch(with_other_splits(c.problem, c, kernel), kernel);
  }

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Scene scene(first.c.problem, first.inputs);
    scene.problem = with_other_splits(scene.problem, first.c, lab.kernel());
    words = fmt::format("{} splits against {}", scene.problem.num_splits,
                        lab.kernel().num_splits(first.c.problem));
    return launch_scene(lab, first.c, scene);
  }

 private:
  static Problem with_other_splits(Problem p, const Case& c, const Kernel& kernel) {
    constexpr int kMany = 65;                 // more than a merge takes at a time
    constexpr std::int64_t kRowsOfMany = 64;  // at most: 65 partials of 64 rows are 8 MiB
    const SplitRule rule = kernel.contract(c.problem).split_rule;
    const int now = kernel.num_splits(c.problem);
    std::vector<int> others, cut_alike;
    for (const int n : {1, 2, 3, 4, 7, 8, 16, kMany}) {
      if (n == now || (n == kMany && p.rows() > kRowsOfMany)) continue;
      const bool alike = std::all_of(p.s_kv.begin(), p.s_kv.end(), [&](int s_kv) {
        return live_splits(rule, s_kv, n) == live_splits(rule, s_kv, now);
      });
      (alike ? cut_alike : others).push_back(n);
    }
    if (others.empty()) others = cut_alike;  // one with a merge, or one with other strides
    p.num_splits = others[choice_of(c, 'n') % others.size()];
    return p;
  }
};

}  // namespace

const Property& splits_property() {
  static const Splits kInstance;
  return kInstance;
}

}  // namespace attest

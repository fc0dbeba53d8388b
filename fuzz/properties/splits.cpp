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
    std::vector<int> others = {1, 2, 3, 4, 7, 8, 16};
    if (p.rows() <= kRowsOfMany) others.push_back(kMany);
    std::erase(others, kernel.num_splits(c.problem));
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

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class Grid final : public TwiceProperty {
 public:
  Grid()
      : TwiceProperty("grid",
                      "splits first or sequences first in the grid does not show in a bit") {}
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.layout_invariant);
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    Problem p = c.problem;
    for (const GridOrder order : {GridOrder::kSplitMinor, GridOrder::kSplitMajor}) {
      p.grid_order = order;
      if (std::string why = why_not_launch(p, kernel); !why.empty()) return why;
    }
    return {};
  }

 protected:
  Case first_case(Case c) const override {
    c.problem.grid_order = GridOrder::kSplitMinor;
    return c;
  }
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Case c = first.c;
    c.problem.grid_order = GridOrder::kSplitMajor;
    words = "split-major grid against split-minor";
    return launch_as_drawn(lab, c);
  }
};

}  // namespace

const Property& grid_property() {
  static const Grid kInstance;
  return kInstance;
}

}  // namespace attest

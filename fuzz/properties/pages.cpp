#include <fmt/format.h>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class Pages final : public TwiceProperty {
 public:
  Pages() : TwiceProperty("pages", "which physical pages hold the tokens does not show in a bit") {}
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.layout_invariant);
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    Problem p = c.problem;
    p.page_base = other_base(c);
    return why_not_launch(p, kernel);
  }

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Scene scene(first.c.problem, first.inputs);
    scene.problem.page_base = other_base(first.c);
    words = fmt::format("the same tokens in other pages, from page {} on", scene.problem.page_base);
    return launch_scene(lab, first.c, scene);
  }

 private:
  static std::int64_t other_base(const Case& c) {
    return c.problem.page_base == 0 ? 1 + static_cast<std::int64_t>(choice_of(c, 'b') % 61) : 0;
  }
};

}  // namespace

const Property& pages_property() {
  static const Pages kInstance;
  return kInstance;
}

}  // namespace attest

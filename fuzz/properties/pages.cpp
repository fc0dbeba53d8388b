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

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Scene scene(first.c.problem, first.inputs);
    std::int64_t& base = scene.problem.page_base;
    base = base == 0 ? 1 + static_cast<std::int64_t>(choice_of(first.c, 'b') % 61) : 0;
    words = fmt::format("the same tokens in other pages, from page {} on", base);
    return launch_scene(lab, first.c, scene);
  }
};

}  // namespace

const Property& pages_property() {
  static const Pages kInstance;
  return kInstance;
}

}  // namespace attest

#include <fmt/format.h>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/twice.hpp"

namespace attest {
namespace {

class PageSize final : public TwiceProperty {
 public:
  PageSize() : TwiceProperty("page_size", "the size of pages does not show in a bit") {}
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.layout_invariant);
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    return why_not_launch(with_other_size(c), kernel);
  }

 protected:
  Result<Launch> other(const Launch& first, Lab& lab, std::string& words) const override {
    Scene scene(first.c.problem, first.inputs);
    scene.problem = with_other_size(first.c);
    words = fmt::format("pages of {} tokens against {}", scene.problem.page_size,
                        first.c.problem.page_size);
    return launch_scene(lab, first.c, scene);
  }

 private:
  // At the same distance from the start of the pool.
  static Problem with_other_size(const Case& c) {
    Problem p = c.problem;
    const bool larger = choice_of(c, 'l') % 2 == 0;
    const int others[] = {p.page_size == 1 ? 16 : 1, p.page_size == 64 ? 16 : 64};
    p.page_size = others[larger];
    p.page_base = p.page_base * c.problem.page_size / p.page_size;
    p.shared_prefix = 0;
    return p;
  }
};

}  // namespace

const Property& page_size_property() {
  static const PageSize kInstance;
  return kInstance;
}

}  // namespace attest

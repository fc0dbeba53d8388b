#include <algorithm>
#include <numeric>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

class Heads final : public Property {
 public:
  std::string_view name() const override { return "heads"; }
  std::string_view statement() const override {
    return "heads in another order give the same bits in that order";
  }
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.batch_invariant);
  }
  std::string why_not(const Case& c, const Kernel&) const override {
    return c.problem.h_q == 1 ? "it has one head" : "";
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto first = launch_as_drawn(lab, c);
    if (!first.ok()) return first.trouble();
    const std::vector<int> to = shuffled(c);
    auto ties = tie_all(c.problem, promise(lab.kernel().contract(c.problem)));
    Scene scene(c.problem, first->inputs);
    const auto q = scene.q;
    for (Tie& tie : ties) {
      tie.other += to[tie.base.head] - tie.base.head;
      scene.q[tie.other] = q[tie.base.row];
    }
    const auto second = launch_scene(lab, c, scene);
    if (!second.ok()) return second.trouble();
    return compare(lab, *first, *second, ties, "heads in another order");
  }

 private:
  static std::vector<int> shuffled(const Case& c) {
    std::vector<int> to(c.problem.h_q);
    std::iota(to.begin(), to.end(), 0);
    const Stream stream{choice_of(c, 'h')};
    for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[stream.bits(i) % i]);
    if (std::is_sorted(to.begin(), to.end())) std::reverse(to.begin(), to.end());
    return to;
  }
};

}  // namespace

const Property& heads_property() {
  static const Heads kInstance;
  return kInstance;
}

}  // namespace attest

#include <numbers>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"

namespace attest {
namespace {

// Only the last query token of a sequence sees all of it, once or twice.
Problem doubled(const Problem& base, const Kernel& kernel) {
  Problem p = base;
  p.num_splits = kernel.num_splits(base);
  p.shared_prefix = 0;
  for (int& s_kv : p.s_kv) s_kv *= 2;
  p.s_q.assign(p.b(), 1);
  return p;
}

class Duplicated final : public Property {
 public:
  std::string_view name() const override { return "duplicated"; }
  std::string_view statement() const override {
    return "every token twice: o is the same, lse is larger by ln 2";
  }
  Promise promise(const Contract&) const override { return Promise::kWithinBound; }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    return why_not_launch(doubled(c.problem, kernel), kernel);
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto first = launch_as_drawn(lab, c);
    if (!first.ok()) return first.trouble();
    const Problem& p = c.problem;
    const Scene drawn(p, first->inputs);
    Scene scene(doubled(p, lab.kernel()));
    std::vector<Tie> ties;
    for (int seq = 0; seq < p.b(); ++seq) {
      scene.tokens[seq] = pages_twice(drawn.tokens[seq], p.page_size);
      for (int head = 0; head < p.h_q; ++head) {
        const RowAt at{seq, p.s_q[seq] - 1, head, row_at(p, seq, p.s_q[seq] - 1, head)};
        ties.push_back({at, std::ssize(scene.q), false, std::numbers::ln2});
        scene.q.push_back(drawn.q[at.row]);
      }
    }
    const auto second = launch_scene(lab, c, scene);
    if (!second.ok()) return second.trouble();
    return compare(lab, *first, *second, ties, "every page twice in the page table");
  }

 private:
  // Page after page, so that a full one is one page with two entries in the table.
  static std::vector<Scene::Row> pages_twice(const std::vector<Scene::Row>& tokens, int page_size) {
    std::vector<Scene::Row> twice;
    for (std::size_t at = 0; at < tokens.size(); at += page_size) {
      const std::size_t end = std::min(at + page_size, tokens.size());
      for (int copy = 0; copy < 2; ++copy) {
        twice.insert(twice.end(), tokens.begin() + at, tokens.begin() + end);
      }
    }
    return twice;
  }
};

}  // namespace

const Property& duplicated_property() {
  static const Duplicated kInstance;
  return kInstance;
}

}  // namespace attest

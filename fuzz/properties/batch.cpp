#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr int kPadding = -1;

// Which sequence of the case stands at each place of the other batch; some are padding rows, as
// serving engines add: one query token, no cache.
std::vector<int> other_batch(const Case& c) {
  std::vector<int> batch(c.problem.b());
  std::iota(batch.begin(), batch.end(), 0);
  batch.insert(batch.end(), 1 + choice_of(c, 'n') % 3, kPadding);
  const Stream stream{choice_of(c, 'b')};
  for (std::size_t i = batch.size(); i > 1; --i) std::swap(batch[i - 1], batch[stream.bits(i) % i]);
  return batch;
}

Problem problem_of(const Case& c, const Kernel& kernel) {
  Problem p = c.problem;
  p.num_splits = kernel.num_splits(c.problem);
  p.shared_prefix = 0;
  p.s_kv.clear();
  p.s_q.clear();
  for (const int seq : other_batch(c)) {
    p.s_kv.push_back(seq == kPadding ? 0 : c.problem.s_kv[seq]);
    p.s_q.push_back(seq == kPadding ? 1 : c.problem.s_q[seq]);
  }
  return p;
}

class Batch final : public Property {
 public:
  std::string_view name() const override { return "batch"; }
  std::string_view statement() const override {
    return "sequences in another order, with padding rows among them, give the same bits";
  }
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.batch_invariant);
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    return why_not_launch(problem_of(c, kernel), kernel);
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto first = launch_as_drawn(lab, c);
    if (!first.ok()) return first.trouble();
    const Scene drawn(c.problem, first->inputs);
    Scene scene(problem_of(c, lab.kernel()));
    const bool bits = promise(lab.kernel().contract(c.problem)) == Promise::kBitEqual;
    const std::vector<int> batch = other_batch(c);
    std::vector<Tie> ties;
    for (int at = 0; at < std::ssize(batch); ++at) {
      const bool padding = batch[at] == kPadding;
      if (!padding) scene.tokens[at] = drawn.tokens[batch[at]];
      for (int i = 0; i < scene.problem.s_q[at]; ++i) {
        for (int head = 0; head < c.problem.h_q; ++head) {
          const std::int64_t row = padding ? head : row_at(c.problem, batch[at], i, head);
          if (!padding) ties.push_back({{batch[at], i, head, row}, std::ssize(scene.q), bits});
          scene.q.push_back(drawn.q[row]);
        }
      }
    }
    const auto second = launch_scene(lab, c, scene);
    if (!second.ok()) return second.trouble();
    return compare(lab, *first, *second, ties,
                   fmt::format("sequences {} (-1: a padding row)", fmt::join(batch, ",")));
  }
};

}  // namespace

const Property& batch_property() {
  static const Batch kInstance;
  return kInstance;
}

}  // namespace attest

// A sequence grows by a token and by the query token that alone may see it.
#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"

namespace attest {
namespace {

Problem grown(const Problem& base, const Kernel& kernel) {
  Problem p = base;
  p.num_splits = kernel.num_splits(base);
  p.shared_prefix = 0;
  for (int seq = 0; seq < p.b(); ++seq) {
    if (p.s_q[seq] == kMaxQueryTokens) continue;
    ++p.s_q[seq];
    ++p.s_kv[seq];
  }
  return p;
}

// A token that shows in whatever row sees it: a large V, and where q allows a large score.
void make_loud(Scene& scene, int sequence, Scene::Row q, bool negative_scale) {
  scene.tokens[sequence].push_back(scene.made(q, [&](Numbers k) {
    for (std::uint16_t& x : k) {
      const float loud = 4 * decode_bf16(x);
      x = encode_bf16(loud == 0 ? 64 : negative_scale ? -loud : loud);
    }
  }));
}

class MaskedTokens final : public Property {
 public:
  std::string_view name() const override { return "masked_tokens"; }
  std::string_view statement() const override {
    return "a token that only one more query token may see does not show in the others";
  }
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.batch_invariant);
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    if (std::string why = why_not_numbers(c.problem); !why.empty()) return why;
    const Problem other = grown(c.problem, kernel);
    if (other.s_q == c.problem.s_q) return "every sequence has its most query tokens already";
    return why_not_launch(other, kernel);
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto first = launch_as_drawn(lab, c);
    if (!first.ok()) return first.trouble();
    const Problem& p = c.problem;
    const Scene drawn(p, first->inputs);
    Scene scene(grown(p, lab.kernel()));
    std::vector<Tie> ties;
    for (int seq = 0; seq < p.b(); ++seq) {
      scene.tokens[seq] = drawn.tokens[seq];
      const std::int64_t last = row_at(p, seq, p.s_q[seq] - 1, 0);
      if (scene.problem.s_kv[seq] > p.s_kv[seq]) {
        make_loud(scene, seq, drawn.q[last], p.sm_scale < 0);
      }
      const bool bits = is_bit_equal(p, scene.problem, seq, lab.kernel());
      for (int i = 0; i < scene.problem.s_q[seq]; ++i) {
        for (int head = 0; head < p.h_q; ++head) {
          const bool added = i == p.s_q[seq];  // it repeats the last query token
          const std::int64_t row = added ? last + head : row_at(p, seq, i, head);
          if (!added) ties.push_back({{seq, i, head, row}, std::ssize(scene.q), bits});
          scene.q.push_back(drawn.q[row]);
        }
      }
    }
    const auto second = launch_scene(lab, c, scene);
    if (!second.ok()) return second.trouble();
    return compare(lab, *first, *second, ties, "one more token and query token a sequence");
  }

 private:
  // The splits still cut at the same tokens as far as the old query tokens see.
  bool is_bit_equal(const Problem& base, const Problem& grown, int seq,
                    const Kernel& kernel) const {
    const Contract contract = kernel.contract(base);
    for (int i = 0; i < base.s_q[seq]; ++i) {
      const auto splits_of = [&](int s_kv) {
        return seen_splits(contract.split_rule, s_kv, grown.num_splits, base.visible(seq, i));
      };
      if (splits_of(base.s_kv[seq]) != splits_of(grown.s_kv[seq])) return false;
    }
    return promise(contract) == Promise::kBitEqual;
  }
};

}  // namespace

const Property& masked_tokens_property() {
  static const MaskedTokens kInstance;
  return kInstance;
}

}  // namespace attest

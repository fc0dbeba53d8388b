#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/pieces.hpp"

namespace attest {
namespace {

std::vector<Piece> pieces_of(const Problem& p) {
  std::vector<Piece> pieces;
  for (int seq = 0; seq < p.b(); ++seq) {
    if (p.s_q[seq] == 1) continue;  // is a single-query call already
    for (int i = 0; i < p.s_q[seq]; ++i) pieces.push_back({seq, i, {0, p.visible(seq, i)}});
  }
  return pieces;
}

class MtpRows final : public Property {
 public:
  std::string_view name() const override { return "mtp_rows"; }
  std::string_view statement() const override {
    return "a query token of several gives what it gives alone on the cache that it sees";
  }
  Promise promise(const Contract& contract) const override {
    return promise_if(contract.batch_invariant);
  }
  std::string why_not(const Case& c, const Kernel& kernel) const override {
    if (c.problem.max_s_q() == 1) return "no sequence has more than one query token";
    return why_not_launch(problem_of(c.problem, kernel, pieces_of(c.problem)), kernel);
  }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto first = launch_as_drawn(lab, c);
    if (!first.ok()) return first.trouble();
    const Contract contract = lab.kernel().contract(c.problem);
    const auto pieces = pieces_of(c.problem);
    const Problem alone = problem_of(c.problem, lab.kernel(), pieces);
    const auto second =
        launch_scene(lab, c, scene_of(Scene(c.problem, first->inputs), alone, pieces));
    if (!second.ok()) return second.trouble();
    std::vector<Tie> ties;
    for (int i = 0; i < std::ssize(pieces); ++i) {
      const int visible = pieces[i].tokens.end;
      const auto splits_of = [&](int s_kv) {
        return seen_splits(contract.split_rule, s_kv, alone.num_splits, visible);
      };
      const bool alike = splits_of(c.problem.s_kv[pieces[i].sequence]) == splits_of(visible);
      for (Tie tie : ties_of(c.problem, pieces[i], i)) {
        tie.bit_equal = alike && promise(contract) == Promise::kBitEqual;
        ties.push_back(tie);
      }
    }
    return compare(lab, *first, *second, ties, "each query token as a sequence of its own");
  }
};

}  // namespace

const Property& mtp_rows_property() {
  static const MtpRows kInstance;
  return kInstance;
}

}  // namespace attest

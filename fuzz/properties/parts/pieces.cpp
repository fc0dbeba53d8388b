#include "fuzz/properties/parts/pieces.hpp"

namespace attest {

Problem problem_of(const Problem& base, const Kernel& kernel, std::span<const Piece> pieces) {
  Problem p = base;
  p.num_splits = kernel.num_splits(base);
  p.shared_prefix = 0;
  p.s_kv.clear();
  for (const Piece& piece : pieces) p.s_kv.push_back(piece.tokens.end - piece.tokens.begin);
  p.s_q.assign(pieces.size(), 1);
  return p;
}

Scene scene_of(const Scene& base, Problem problem, std::span<const Piece> pieces) {
  Scene scene(std::move(problem));
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const auto& tokens = base.tokens[piece.sequence];
    scene.tokens[i].assign(tokens.begin() + piece.tokens.begin, tokens.begin() + piece.tokens.end);
    for (const Tie& tie : ties_of(base.problem, piece, 0)) scene.q.push_back(base.q[tie.base.row]);
  }
  return scene;
}

std::vector<Tie> ties_of(const Problem& base, const Piece& piece, int index) {
  std::vector<Tie> ties;
  const std::int64_t first = row_at(base, piece.sequence, piece.query_token, 0);
  for (int head = 0; head < base.h_q; ++head) {
    ties.push_back({{piece.sequence, piece.query_token, head, first + head},
                    std::int64_t{index} * base.h_q + head});
  }
  return ties;
}

}  // namespace attest

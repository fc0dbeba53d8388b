// The declared schedule on exact scores, for explain.cpp.
#pragma once
#include <vector>

#include "reference/explain_row.hpp"

namespace attest::slow {

// What a tile shows one row: its largest score, with its errors, over all and alone.
struct TileScores {
  bool any = false;
  double max = 0, high = 0, high_likely = 0;
};

struct Replay {
  std::vector<InForce> tiles;  // the max in force at each; where none is, max is NaN
  bool ambiguous = false;
};

// rows[i][t]: tile t as row i of those that decide together sees it; the result is row `of`'s.
Replay replay(const Arithmetic& arithmetic, const std::vector<std::vector<TileScores>>& rows,
              std::size_t of);

// How often a running max may move; `off`: the largest error of a score of the split.
double count_rescales(const Arithmetic& arithmetic, const std::vector<TileScores>& tiles,
                      double off);

}  // namespace attest::slow

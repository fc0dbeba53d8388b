// Query tokens of a case, each as a sequence of its own that sees a range of its cache.
#pragma once
#include <span>
#include <vector>

#include "fuzz/properties/parts/launches.hpp"

namespace attest {

struct Piece {
  int sequence = 0, query_token = 0;  // of the case
  TokenRange tokens;
};

// The number of splits is what the kernel runs the case with.
Problem problem_of(const Problem& base, const Kernel& kernel, std::span<const Piece> pieces);
Scene scene_of(const Scene& base, Problem problem, std::span<const Piece> pieces);

// Rows of the case that a piece stands for, each with its row of the other launch.
std::vector<Tie> ties_of(const Problem& base, const Piece& piece, int index);

}  // namespace attest

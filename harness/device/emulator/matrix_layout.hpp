// Where a lane's registers hold the elements of A, B, C and D of a matrix instruction, by one
// closed form over all shapes. Source: AMD matrix instruction calculator; MI300 ISA, chapter 7.
#pragma once
#include <cstdint>

namespace attest::emulator {

struct Shape {
  int m, n, k, blocks;
  int run = 4;  // consecutive rows of D in consecutive registers: 4, of f64 1
};
// Elements of a lane.
constexpr int source_count(const Shape& s) { return s.m * s.k * s.blocks / 64; }
constexpr int result_count(const Shape& s) { return s.m * s.n * s.blocks / 64; }

struct SourcePlace {
  int block, k, outer;  // outer: the row of A, the column of B
};
// A and B: lanes walk the rows (columns), then the blocks, then k in chunks of a lane's elements.
constexpr SourcePlace source_place(const Shape& s, int lane, int element) {
  const int group = lane / s.m;
  return {group % s.blocks, group / s.blocks * source_count(s) + element, lane % s.m};
}

struct ResultPlace {
  int block, row, column;
};
// C and D: lanes walk the columns. The 64 / N groups of lanes hold different blocks first, then
// different runs of rows, as far as there are any; what is left is in the registers.
constexpr ResultPlace result_place(const Shape& s, int lane, int reg) {
  const int groups = 64 / s.n, runs = s.m / s.run;
  const int row_groups = groups < runs ? groups : runs, block_groups = groups / row_groups;
  const int group = lane / s.n, run_in_lane = reg / s.run;
  const int runs_a_lane = runs / row_groups;
  const int run = run_in_lane % runs_a_lane * row_groups + group / block_groups;
  return {run_in_lane / runs_a_lane * block_groups + group % block_groups,
          run * s.run + reg % s.run, lane % s.n};
}

// The lane whose B a lane gets under BLGP. Source: MI300 ISA, chapter 7 (BLGP).
constexpr int broadcast_lane(int lane, int blgp) {
  switch (blgp) {
    case 0:
      return lane;
    case 1:  // the lower half to both
      return lane % 32;
    case 2:  // the upper half to both
      return 32 + lane % 32;
    case 3:  // rotated by 16
      return (lane + 16) % 64;
    default:  // one group of 16 to all
      return 16 * (blgp - 4) + lane % 16;
  }
}

}  // namespace attest::emulator

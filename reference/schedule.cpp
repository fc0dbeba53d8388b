// The declared schedule, replayed on exact scores: which running max is in force where P of a tile
// is rounded, and by how much the kernel's may differ from it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/job.hpp"

namespace attest {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();

// The tiles of a split, across its chunks.
std::vector<TileMax*> tiles_of(int split, BlockJob& job) {
  std::vector<TileMax*> tiles;
  for (std::size_t c = job.first_chunk[split]; c < job.first_chunk[split + 1]; ++c) {
    for (TileMax& tile : job.chunk_largest[c].tiles) tiles.push_back(&tile);
  }
  return tiles;
}

void find_largest(int split, BlockJob& job, double (&off)[kBlockRows]) {
  SplitLargest& largest = job.split_largest[split];
  std::fill_n(largest.score, kBlockRows, kNone);
  std::fill_n(largest.token, kBlockRows, -1.0);
  std::fill_n(largest.rescales, kBlockRows, 0.0);
  std::fill_n(largest.ambiguous, kBlockRows, false);
  for (std::size_t c = job.first_chunk[split]; c < job.first_chunk[split + 1]; ++c) {
    const ChunkLargest& chunk = job.chunk_largest[c];
    for (int r = 0; r < kBlockRows; ++r) {
      if (chunk.all[r] > largest.score[r]) {
        largest.score[r] = chunk.all[r];
        largest.token[r] = chunk.token[r];
      }
      off[r] = std::max(off[r], chunk.logit_error[r]);
    }
  }
}

// A running max that takes every tile's.
void run_max(const std::vector<TileMax*>& tiles, int first, int step, int r) {
  double max = kNone, high = kNone, high_p = kNone;
  for (std::size_t t = first; t < tiles.size(); t += step) {
    TileMax& tile = *tiles[t];
    max = std::max(max, tile.max[r]);
    high = std::max(high, tile.high[r]);
    high_p = std::max(high_p, tile.high_p[r]);
    tile.max[r] = max;
    tile.high[r] = max == kNone ? 0 : high - max;
    tile.high_p[r] = max == kNone ? 0 : high_p - max;
  }
}

struct LazyMax {
  double max = kNone, off = 0, off_p = 0;
};

// Rows first .. end decide together. Each tile either leaves all their maxima, or raises all.
void run_lazy_max(const std::vector<TileMax*>& tiles, int wave, const Arithmetic& a, int first,
                  int end, SplitLargest& split) {
  const double threshold = a.lazy_rescale * kLn2;
  std::vector<LazyMax> rows(end - first);
  for (std::size_t t = wave; t < tiles.size(); t += a.waves_per_split) {
    TileMax& tile = *tiles[t];
    bool raises = false, unsure = false;
    for (int r = first; r < end; ++r) {
      const LazyMax& row = rows[r - first];
      if (tile.max[r] == kNone) continue;
      const double above = tile.max[r] - row.max - threshold;
      const double off = tile.high[r] - tile.max[r] + row.off +
                         8 * kU * (std::fabs(tile.max[r]) + std::fabs(row.max) + threshold);
      if (row.max == kNone || above > off) {
        raises = true;
      } else if (above >= -off) {
        unsure = true;
      }
    }
    for (int r = first; r < end; ++r) {
      LazyMax& row = rows[r - first];
      split.ambiguous[r] |= unsure && !raises;
      if (raises && tile.max[r] != kNone) {
        const double max = std::max(row.max, tile.max[r]);
        row = {max, std::max(row.max + row.off, tile.high[r]) - max,
               std::max(row.max + row.off_p, tile.high_p[r]) - max};
      }
      tile.max[r] = row.max;
      tile.high[r] = row.off;
      tile.high_p[r] = row.off_p;
    }
  }
}

}  // namespace

void schedule_split(const Problem& problem, const Arithmetic& a, const Plan& plan, int split,
                    BlockJob& job) {
  double off[kBlockRows] = {};
  find_largest(split, job, off);
  if (!plan.bounds) return;
  const std::vector<TileMax*> tiles = tiles_of(split, job);
  std::vector<double> largest(tiles.size());
  for (int r = 0; r < kBlockRows; ++r) {
    for (std::size_t t = 0; t < tiles.size(); ++t) largest[t] = tiles[t]->max[r];
    job.split_largest[split].rescales[r] =
        a.lazy_rescale > 0 && a.lazy_heads > 1
            ? most_rises(largest.data(), largest.size(), off[r], a.waves_per_split)
            : most_rescales(largest.data(), largest.size(), off[r], a.waves_per_split);
  }
  if (!plan.tiers) return;
  for (int wave = 0; wave < a.waves_per_split; ++wave) {
    if (a.lazy_rescale == 0) {
      for (int r = 0; r < kBlockRows; ++r) run_max(tiles, wave, a.waves_per_split, r);
      continue;
    }
    for (int first = 0, end = 0; first < kBlockRows; first = end) {
      const auto group = [&](int r) {  // of heads of one query token
        const int row = job.block.first_row + std::min(r, job.block.rows - 1);
        return std::pair{row / problem.h_q, row % problem.h_q / a.lazy_heads};
      };
      for (end = first + 1; end < kBlockRows && group(end) == group(first);) ++end;
      run_lazy_max(tiles, wave, a, first, end, job.split_largest[split]);
    }
  }
}

}  // namespace attest

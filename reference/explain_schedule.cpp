#include "reference/explain_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::slow {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

// The running max of one row in one wave.
struct Running {
  double max = kNothing, high = kNothing, high_likely = kNothing;
  void take(const TileScores& tile) {
    max = std::max(max, tile.max);
    high = std::max(high, tile.high);
    high_likely = std::max(high_likely, tile.high_likely);
  }
};

enum class Answer { kNo, kUnsure, kYes };

// Whether a lazy max gives way to the tile's.
Answer must_move(const Arithmetic& a, const Running& running, const TileScores& tile) {
  if (!tile.any) return Answer::kNo;
  if (running.max == kNothing) return Answer::kYes;
  const double threshold = a.lazy_rescale * kNaturalOfLog2;
  const double above = tile.max - running.max - threshold;
  const double doubt = (tile.high - tile.max) + (running.high - running.max) +
                       8 * kHalfUlp * (std::fabs(tile.max) + std::fabs(running.max) + threshold);
  if (above > doubt) return Answer::kYes;
  return above < -doubt ? Answer::kNo : Answer::kUnsure;
}

// The longest chain of tiles, each of which may lie above the one before it.
double longest_rise(const std::vector<double>& maxima, double off) {
  std::vector<int> chain(maxima.size(), 1);
  int longest = 1;
  for (std::size_t t = 0; t < maxima.size(); ++t) {
    for (std::size_t before = 0; before < t; ++before) {
      if (maxima[t] + 2 * off > maxima[before]) chain[t] = std::max(chain[t], chain[before] + 1);
    }
    longest = std::max(longest, chain[t]);
  }
  return longest - 1;
}

// Tiles that may exceed all before them.
double count_records(const std::vector<double>& maxima, double off) {
  double records = 0;
  for (std::size_t t = 1; t < maxima.size(); ++t) {
    const auto here = maxima.begin() + static_cast<std::ptrdiff_t>(t);
    if (*here + 2 * off > *std::max_element(maxima.begin(), here)) ++records;
  }
  return records;
}

}  // namespace

Replay replay(const Arithmetic& a, const std::vector<std::vector<TileScores>>& rows,
              std::size_t of) {
  Replay result;
  const std::size_t tiles = rows[of].size();
  result.tiles.resize(tiles);
  std::vector<std::vector<Running>> waves(a.waves_per_split, std::vector<Running>(rows.size()));
  for (std::size_t t = 0; t < tiles; ++t) {
    std::vector<Running>& wave = waves[t % a.waves_per_split];
    Answer answer = a.lazy_rescale == 0 ? Answer::kYes : Answer::kNo;
    for (std::size_t i = 0; i < rows.size() && a.lazy_rescale > 0; ++i)
      answer = std::max(answer, must_move(a, wave[i], rows[i][t]));
    for (std::size_t i = 0; i < rows.size() && answer == Answer::kYes; ++i) {
      if (rows[i][t].any) wave[i].take(rows[i][t]);
    }
    result.ambiguous |= answer == Answer::kUnsure;
    const Running& running = wave[of];
    result.tiles[t] = {running.max == kNothing ? std::nan("") : running.max,
                       running.high - running.max, running.high_likely - running.max};
  }
  return result;
}

double count_rescales(const Arithmetic& a, const std::vector<TileScores>& tiles, double off) {
  double most = 0;
  for (const int waves : {1, a.waves_per_split}) {
    for (int wave = 0; wave < waves; ++wave) {
      std::vector<double> maxima;
      for (std::size_t t = wave; t < tiles.size(); t += waves) {
        if (tiles[t].any) maxima.push_back(tiles[t].max);
      }
      if (maxima.empty()) continue;
      // A max that others decide about may stay below a tile's, and rise to less at a later one.
      const bool others = a.lazy_rescale > 0 && a.lazy_heads > 1;
      most = std::max(most, others ? longest_rise(maxima, off) : count_records(maxima, off));
    }
  }
  return most;
}

}  // namespace attest::slow

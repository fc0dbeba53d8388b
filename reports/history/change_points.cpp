#include "reports/history/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "harness/core/random.hpp"

namespace attest {
namespace {

constexpr int kLeastLength = 3;  // points: what did not last so long is no level
constexpr int kOrders = 999;     // with none of them as far apart: 1 in 1,000

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t n = sorted.size();
  return (sorted[(n - 1) / 2] + sorted[n / 2]) / 2;
}

// In logarithms. A point that stands out from the median of the 5 around it, more than points
// usually do, takes that: the median follows what lasts 3 points, and no less.
std::vector<double> levels_of(std::span<const double> values) {
  std::vector<double> levels(values.size());
  std::transform(values.begin(), values.end(), levels.begin(),
                 [](double v) { return std::log(v); });
  constexpr int kWindow = 2 * kLeastLength - 1;
  const int n = static_cast<int>(levels.size());
  if (n < kWindow) return levels;
  std::vector<double> around(levels.size()), apart(levels.size());
  for (int i = 0; i < n; ++i) {
    const int begin = std::clamp(i - kWindow / 2, 0, n - kWindow);
    around[i] = median(std::span(levels).subspan(begin, kWindow));
    apart[i] = std::abs(levels[i] - around[i]);
  }
  // Five standard deviations of normal noise: 0.6745 of one is the median of its magnitude.
  const double usual = std::max(std::log(kLeastStep), 5 / 0.6745 * median(apart));
  for (int i = 0; i < n; ++i) {
    if (apart[i] > usual) levels[i] = around[i];
  }
  return levels;
}

// Of n points the sum from 0 to n: 0, and each once more than its mean.
std::vector<double> sums_of(std::span<const double> levels) {
  const double mean = std::accumulate(levels.begin(), levels.end(), 0.0) / levels.size();
  std::vector<double> sums(levels.size() + 1);
  for (std::size_t i = 0; i < levels.size(); ++i) sums[i + 1] = sums[i] + levels[i] - mean;
  return sums;
}

struct Arc {
  int begin = 0, end = 0;  // [begin, end) against the rest
  double score = 0;
};

// Of the arcs whose parts are long enough, the one whose mean is furthest from that of the rest, in
// units of what chance makes: (S_j - S_i)^2 n / (k (n - k)), the square of Olshen's Z.
class Arcs {
 public:
  explicit Arcs(int n) : n_(n), weight_(n + 1) {
    for (int k = 1; k < n; ++k)
      weight_[k] = static_cast<double>(n) / (static_cast<double>(k) * (n - k));
  }
  Arc best(std::span<const double> levels) const {
    const std::vector<double> sums = sums_of(levels);
    Arc best;
    for (int begin = 0; begin <= n_ - kLeastLength; ++begin) {
      if (begin > 0 && begin < kLeastLength) continue;
      for (int end = begin + kLeastLength; end <= n_; ++end) {
        if (end == n_ ? begin == 0 : n_ - end < kLeastLength) continue;
        const double apart = sums[end] - sums[begin];
        const double score = apart * apart * weight_[end - begin];
        if (score > best.score) best = {begin, end, score};
      }
    }
    return best;
  }

 private:
  int n_;
  std::vector<double> weight_;
};

bool is_by_chance(const Arcs& arcs, std::vector<double> levels, double score) {
  std::uint64_t state = levels.size();  // the same series, the same answer
  for (int order = 0; order < kOrders; ++order) {
    for (std::size_t i = levels.size() - 1; i > 0; --i) {
      std::swap(levels[i], levels[mix64(++state) % (i + 1)]);
    }
    // As far apart, but for the order in which sums round.
    if (arcs.best(levels).score >= score * (1 - 1e-9)) return true;
  }
  return false;
}

bool differ(std::span<const double> a, std::span<const double> b) {
  return std::abs(median(a) - median(b)) >= std::log(kLeastStep);
}

void split(std::span<const double> levels, int offset, std::vector<int>& changes) {
  const int n = static_cast<int>(levels.size());
  if (n < 2 * kLeastLength) return;
  const auto [least, most] = std::minmax_element(levels.begin(), levels.end());
  if (*most - *least < std::log(kLeastStep)) return;
  const Arcs arcs(n);
  const Arc arc = arcs.best(levels);
  if (is_by_chance(arcs, {levels.begin(), levels.end()}, arc.score)) return;
  const int ends[] = {0, arc.begin, arc.end, n};
  for (int part = 0; part < 3; ++part) {
    const int begin = ends[part], end = ends[part + 1];
    if (begin == end) continue;
    if (begin > 0) changes.push_back(offset + begin);
    split(levels.subspan(begin, end - begin), offset + begin, changes);
  }
}

}  // namespace

std::vector<int> change_points(std::span<const double> values) {
  const std::vector<double> levels = levels_of(values);
  std::vector<int> changes;
  split(levels, 0, changes);
  // What the search cut but is no step against its neighbours is joined again.
  for (std::size_t i = 0; i < changes.size();) {
    const int begin = i == 0 ? 0 : changes[i - 1];
    const int end = i + 1 == changes.size() ? static_cast<int>(levels.size()) : changes[i + 1];
    const std::span<const double> all = levels;
    if (differ(all.subspan(begin, changes[i] - begin), all.subspan(changes[i], end - changes[i]))) {
      ++i;
    } else {
      changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(i));
      i = 0;
    }
  }
  return changes;
}

}  // namespace attest

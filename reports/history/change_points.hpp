// Change points: where the level of a series changed, told from the noise around it.
#pragma once
#include <span>
#include <vector>

namespace attest {

// A smaller change of the level is no news: `attest compare` says 1.5 for a single pair of runs.
inline constexpr double kLeastStep = 1.2;

// Each the first point of a new level of a series of positive numbers, which lasts at least 3
// points (a night or two that stand out move nothing). Circular binary segmentation (Olshen,
// Venkatraman, Lucito, Wigler 2004, doi:10.1093/biostatistics/kxh008): the run of points that
// differs most from all others is a level of its own if hardly any (1 in 1,000) of the orders of
// the same points has one that differs as much; and so on within each part.
std::vector<int> change_points(std::span<const double> values);

}  // namespace attest

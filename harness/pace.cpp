#include "harness/pace.hpp"

#include <algorithm>
#include <cstddef>

namespace attest {
namespace {

constexpr double kLeastSeconds = 60;      // on a machine that does much else
constexpr double kMostSeconds = 30 * 60;  // of a case of one launch, whatever an old run measured
constexpr double kTimesCost = 20;         // what a cost is expected to be wrong by, at most
constexpr std::size_t kFewCases = 5;      // say nothing about a machine

}  // namespace

void Pace::took(double cost_ms, double ms) {
  if (cost_ms <= 0 || ms <= 0) return;
  ratios_.push_back(ms / cost_ms);
  if (ratios_.size() < kFewCases) return;
  const auto middle = ratios_.begin() + static_cast<std::ptrdiff_t>(ratios_.size() / 2);
  std::nth_element(ratios_.begin(), middle, ratios_.end());
  measured_ = *middle;
}

double Pace::expected_s(double cost_ms) const {
  return cost_ms / 1000 * (measured_ > 0 ? measured_ : launches_);
}

double Pace::limit_s(double cost_ms) const {
  const double factor = std::max(launches_, measured_);
  const double slowness = factor / launches_;
  return std::clamp(kTimesCost * factor * cost_ms / 1000, kLeastSeconds * slowness,
                    kMostSeconds * factor);
}

}  // namespace attest

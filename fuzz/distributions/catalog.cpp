#include "fuzz/distributions/catalog.hpp"

#include <array>

namespace attest {

std::span<const Distribution* const> all_distributions() {
  static const std::array kAll = {
      &normal_distribution(),        &small_normal_distribution(),  &wide_logits_distribution(),
      &two_clusters_distribution(),  &needles_distribution(),       &uniform_logits_distribution(),
      &census_distribution(),        &monotone_distribution(),      &decreasing_distribution(),
      &rescale_steps_distribution(), &huge_logits_distribution(),   &very_negative_distribution(),
      &deep_spread_distribution(),   &sink_distribution(),          &ones_distribution(),
      &positive_distribution(),      &alternating_distribution(),   &column_scales_distribution(),
      &subnormal_distribution(),     &head_distinct_distribution(), &periodic_distribution(),
      &one_hot_distribution(),
  };
  return kAll;
}

const Distribution* find_distribution(std::string_view name) {
  for (const Distribution* distribution : all_distributions()) {
    if (distribution->name() == name) return distribution;
  }
  return nullptr;
}

}  // namespace attest

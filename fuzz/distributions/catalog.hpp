// One declaration and one line in catalog.cpp for each distribution.
#pragma once
#include "fuzz/distributions/distribution.hpp"

namespace attest {

const Distribution& normal_distribution();
const Distribution& small_normal_distribution();
const Distribution& wide_logits_distribution();
const Distribution& two_clusters_distribution();
const Distribution& needles_distribution();
const Distribution& uniform_logits_distribution();
const Distribution& census_distribution();
const Distribution& monotone_distribution();
const Distribution& decreasing_distribution();
const Distribution& rescale_steps_distribution();
const Distribution& huge_logits_distribution();
const Distribution& very_negative_distribution();
const Distribution& deep_spread_distribution();
const Distribution& sink_distribution();
const Distribution& ones_distribution();
const Distribution& positive_distribution();
const Distribution& alternating_distribution();
const Distribution& column_scales_distribution();
const Distribution& subnormal_distribution();
const Distribution& head_distinct_distribution();
const Distribution& periodic_distribution();
const Distribution& one_hot_distribution();

}  // namespace attest

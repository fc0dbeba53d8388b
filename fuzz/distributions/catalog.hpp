// One declaration and one line in catalog.cpp for each distribution.
#pragma once
#include "fuzz/distributions/distribution.hpp"

namespace attest {

const Distribution& normal_distribution();
const Distribution& needles_distribution();
const Distribution& uniform_logits_distribution();
const Distribution& monotone_distribution();

}  // namespace attest

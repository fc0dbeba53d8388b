// How small an error / bound is that nobody has to hear of.
#pragma once

namespace attest {

// The probabilistic bounds allow 8 standard deviations of the rounding noise that the contract
// predicts (kLambda of reference/error_bound.hpp): a ratio below this is less than half of one, and
// where in it an error lies is chance.
inline constexpr double kNoNews = 0.5 / 8;

}  // namespace attest

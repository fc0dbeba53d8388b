// Rounding errors of two tokens are equal, not independent, where all that is rounded is: equal
// scores of equal products, or equal P. Counted from above: tokens that share a slot of a hash
// table.
#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/core/random.hpp"
#include "reference/job.hpp"

namespace attest {
namespace {

// T2p: what is left to chance is the error of the score. Tokens with one score may have one error.
std::uint64_t score_key(double x) { return mix64(std::bit_cast<std::uint64_t>(x + 0.0)); }

// T1: so is the rounding of P. Within a quarter of the spacing of P's significands, errors are
// nearly one, whatever the power of two.
std::uint64_t rounding_key(double x, double bins) {
  const double log2 = x / kLn2;
  return static_cast<std::uint64_t>((log2 - std::floor(log2)) * bins);
}

}  // namespace

void count_repeats(const Arithmetic& arithmetic, const Plan& plan, int r, Job& job) {
  const int visible = job.block.visible[r];
  const double bins = std::ldexp(1.0, std::min(arithmetic.p_bits, 12) + 2);
  // At most one false neighbour for two tokens, on average.
  const std::size_t slots = plan.declared
                                ? std::bit_ceil(static_cast<std::size_t>(std::max(2 * visible, 64)))
                                : static_cast<std::size_t>(bins);
  const auto slot = [&](int token) {
    const double x = job.scores.x[std::size_t{1} * token * kBlockRows + r];
    return plan.declared ? score_key(x) & (slots - 1) : rounding_key(x, bins) % slots;
  };
  std::vector<std::uint32_t> counts(slots);
  for (int token = 0; token < visible; ++token) ++counts[slot(token)];
  for (int token = 0; token < visible; ++token) {
    job.scores.repeat[std::size_t{1} * token * kBlockRows + r] =
        static_cast<float>(counts[slot(token)]);
  }
}

}  // namespace attest

#include "harness/judge_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/formats.hpp"

namespace attest {
namespace {

// Source: measured on emulated kernels: over 20 to 60 seeds a family no correct one exceeds 5, one
// family at its worst 8.3, while lost tokens and splits give 14 and more.
constexpr double kSuspectZ = 12;
// Source: measured on emulated kernels: correct ones differ in at most 1.4 % of elements, defects
// in 3 to 99 %.
constexpr double kSuspectMismatch = 0.05;
// Of so many, 1.4 % are 28 with a standard deviation of 5.3: 5 % are 13 of those away.
constexpr std::int64_t kFewestForMismatch = 2000;

std::string score_text(const Score& score) {
  std::string text = "score test: " + score.filter;
  if (score.token_end - score.token_begin == 1) {
    text += fmt::format(" {}{}", score.filter == "token" ? "" : "token ", score.token_begin);
  } else if (score.token_begin >= 0) {
    text += fmt::format(" tokens {}..{}", score.token_begin, score.token_end - 1);
  }
  if (score.sequence >= 0) text += fmt::format(" of sequence {}", score.sequence);
  if (score.split >= 0) text += fmt::format(" (split {})", score.split);
  return text + fmt::format(": z = {:.3g}", score.z);
}

// The emulated centre of an element of o, and what it may be off by.
struct Emulated {
  double centre, radius;
};

// At a tie any error decides the bits: there they say nothing. The radius is 8 sigma.
bool is_at_a_tie(const Emulated& e, Rounding rounding) {
  const double sigma = e.radius / 8;
  return encode_bf16(e.centre - sigma, rounding) != encode_bf16(e.centre + sigma, rounding);
}

}  // namespace

Evidence facts_of(const Reference& reference) {
  Evidence e;
  bool first = true;
  for (const RowFacts& row : reference.rows) {
    if (row.n_eff == 0) continue;  // it sees no token
    e.logit_min = first ? row.logit_min : std::min<double>(e.logit_min, row.logit_min);
    e.logit_max = first ? row.logit_max : std::max<double>(e.logit_max, row.logit_max);
    e.n_eff_min = first ? row.n_eff : std::min<double>(e.n_eff_min, row.n_eff);
    e.n_eff_max = first ? row.n_eff : std::max<double>(e.n_eff_max, row.n_eff);
    e.flush_mass = std::max<double>(e.flush_mass, row.flush_mass);
    if (std::abs(row.gain_bias) > std::abs(e.gain_bias)) e.gain_bias = row.gain_bias;
    e.condition_max = std::max<double>(e.condition_max, row.condition);
    first = false;
  }
  if (!reference.scores.empty()) e.scores = reference.scores[0];
  return e;
}

Mismatch mismatch_of(const Subject& subject, const Output& output, const Reference& reference) {
  Mismatch result;
  const std::vector<float>& radius = reference.tiers.t2p.o;
  const std::vector<float>& shift = reference.tiers.p_shift.o;
  if (radius.empty()) return result;
  const Rounding rounding =
      subject.contract.arithmetic.o_truncates ? Rounding::kTowardZero : Rounding::kNearestEven;
  each_row_while(subject, [&](const Place& place, const std::vector<TokenRange>&) {
    if (visible_at(subject, place) == 0) return true;
    for (std::int64_t i = place.row * kDV; i < (place.row + 1) * kDV; ++i) {
      const Emulated e{reference.expected.o[i] + (shift.empty() ? 0.0 : shift[i]), radius[i]};
      // Less than a quarter of an ulp: most elements' bits are decided.
      if (!(e.radius < half_ulp_bf16(std::abs(e.centre)) / 2) || is_at_a_tie(e, rounding)) continue;
      ++result.counted;
      // As values: zero has two codes.
      if (decode_bf16(output.o[i]) != decode_bf16(encode_bf16(e.centre, rounding))) ++result.differ;
    }
    return true;
  });
  return result;
}

Suspicion why_suspect(const std::vector<Score>& scores, const Mismatch& mismatch) {
  const Score* worst = nullptr;
  for (const Score& score : scores) {
    if (std::abs(score.z) <= kSuspectZ) continue;  // a NaN stays
    if (worst == nullptr || !(std::abs(score.z) <= std::abs(worst->z))) worst = &score;
  }
  if (worst != nullptr) return {score_text(*worst), worst->filter};
  if (mismatch.counted >= kFewestForMismatch && mismatch.share() > kSuspectMismatch) {
    return {
        fmt::format("{:.1f} % of the {} elements of o whose bits T2p nearly decides differ from "
                    "the emulated reference",
                    100 * mismatch.share(), mismatch.counted),
        "mismatch"};
  }
  return {};
}

}  // namespace attest

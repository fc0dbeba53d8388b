#include "reference/explain_row.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "reference/explain_schedule.hpp"
#include "reference/row_view.hpp"

namespace attest::slow {
namespace {

struct Score {
  double x = 0, spread = 0;
};

double worst_of(const Factors& f, const Score& s) {
  return f.dot * s.spread + f.logit * std::fabs(s.x);
}
double likely_of(const Factors& f, const Score& s) {
  return kSigmas * std::sqrt(f.dot_variance * s.spread * s.spread + f.logit_variance * s.x * s.x);
}

// The scores of the tokens that a row sees: over the codes, so that equal ones are equal here too.
// A kernel that scales q first has log2 scores of the rounded q.
std::vector<Score> scores_of(const Problem& problem, const Arithmetic& a, const RowView& row,
                             bool majorised, bool exact_q) {
  const bool scales_q = a.scaled_q && !exact_q;
  const float q_scale = problem.sm_scale * 1.44269504f;
  const double scale =
      scales_q ? kNaturalOfLog2 : double{problem.q_scale} * problem.kv_scale * problem.sm_scale;
  std::array<double, kDQk> q;
  for (int d = 0; d < kDQk; ++d) {
    const float code = row.q_code(d);
    q[d] = scales_q ? decode_bf16(encode_bf16(code * q_scale)) : code;
  }
  std::vector<Score> scores(row.visible());
  constexpr int kAtOnce = 4;  // chains of additions: each waits for its own last sum
  float k[kAtOnce][kDQk] = {};
  for (int first = 0; first < row.visible(); first += kAtOnce) {
    const int here = std::min(kAtOnce, row.visible() - first);
    for (int i = 0; i < here; ++i) row.k_codes(first + i).read(kDQk, k[i]);
    double dot[kAtOnce] = {}, magnitude[kAtOnce] = {};
    for (int d = 0; d < kDQk; ++d) {
      for (int i = 0; i < kAtOnce; ++i) {
        const double product = q[d] * k[i][d];
        dot[i] += product;
        magnitude[i] += std::fabs(product);
      }
    }
    // The reference sums magnitudes in fp32, and inflates.
    for (int i = 0; i < here; ++i) {
      scores[first + i] = {scale * dot[i],
                           std::fabs(scale) * magnitude[i] * (majorised ? 1 + 0x1p-13 : 1)};
    }
  }
  return scores;
}

std::vector<TileScores> tiles_of(const Arithmetic& a, const Factors& f, TokenRange range,
                                 const std::vector<Score>& scores) {
  std::vector<TileScores> tiles;
  for (int begin = range.begin; begin < range.end; begin += a.tile_tokens) {
    TileScores tile{.max = -std::numeric_limits<double>::infinity()};
    tile.high = tile.high_likely = tile.max;
    const int end = std::min({begin + a.tile_tokens, range.end, static_cast<int>(scores.size())});
    for (int j = begin; j < end; ++j) {
      const Score& s = scores[j];
      tile.any = true;
      tile.max = std::max(tile.max, s.x);
      tile.high = std::max(tile.high, s.x + worst_of(f, s));
      tile.high_likely = std::max(tile.high_likely, s.x + likely_of(f, s));
    }
    tiles.push_back(tile);
  }
  return tiles;
}

void fill_theta(const Factors& f, double max, double rescales, bool majorised, Token& t) {
  const double below = max - t.x;
  t.w = std::exp(-below);
  t.dot = f.dot * t.spread;
  t.logit = f.logit * std::fabs(t.x);
  t.argument = f.argument * below;
  t.exp2 = f.exp2 + f.join + f.lazy;
  t.rescale = rescales * f.rescale;
  // A rounded P takes the error of its own score with it, and leaves that of the max in force.
  t.theta = growth_of(t.exponent(), majorised);
  const double own = t.dot + t.logit;
  t.theta_rounded = growth_of(t.exponent() - own + std::max(own, t.m.off), majorised);
  t.flushed = -below - t.exponent() < -126 * kNaturalOfLog2;
  if (t.flushed) t.theta = std::max(t.theta, 1.0);
  t.theta_rounded = std::max(t.theta, t.theta_rounded);
}

void fill_rounding(const Arithmetic& a, const Factors& f, bool majorised, Token& t) {
  const double least = a.p_scale * t.w;  // m <= M
  t.subnormal = least < f.least_normal;
  t.rho = f.u_p;  // a weight of 0 is lost whole
  if (t.subnormal) t.rho = least > 0 ? std::min(f.eta / least, 1.0) : 1;
  t.rho = std::max(t.rho, f.saturation);
  if (std::isnan(t.m.max)) t.m = {t.x, 0, 0};
  t.p = a.p_scale * std::exp(t.x - t.m.max);
  const double r = round_p(a, t.p);
  t.pi = t.p > 0 ? r / t.p - 1 : 0;
  const auto flip = [&](double window) {
    if (a.p_bits >= 24 || t.p == 0) return 0.0;
    const double up = round_p(a, t.p * (1 + growth_of(window, majorised))) - r;
    const double down = r - round_p(a, t.p * std::max(1 - window, 0.0));
    return std::max(up, down) / t.p;
  };
  const double common = f.argument * std::fabs(t.x - t.m.max) + f.p_scaling;
  t.flip = flip(t.dot + t.logit + t.m.off + common + t.exp2);
  t.flip_likely = t.wild ? 0 : flip(kSigmas * std::sqrt(t.variance) + t.m.off_likely + common);
}

void fill_likely(const Factors& f, bool declared, double below, Token& t) {
  const double from_max = t.x - (std::isnan(t.m.max) ? t.x : t.m.max);
  const double of_score = f.dot_variance * t.spread * t.spread + f.logit_variance * t.x * t.x;
  const double of_max = declared ? t.m.off_likely / kSigmas : 0;
  t.variance = std::max(of_score, of_max * of_max) + f.logit_variance * from_max * from_max +
               f.exp2_variance;
  t.kappa = f.argument * below + t.exp2 + t.rescale;
  // Where the root is over 0.01 nothing is left to chance; below it the mean of e^d - 1 is common,
  // and its tail a tenth of the variance.
  t.wild = t.variance > 1e-4;
  if (!t.wild) t.kappa += t.variance;
  t.variance *= t.wild ? 0 : 1.1;
  if (t.flushed) t.kappa = std::max(t.kappa, 1.0);
}

Split make_split(const Arithmetic& a, Descalings descalings, TokenRange range,
                 const std::vector<std::vector<Score>>& deciding, std::size_t of, bool majorised,
                 bool declared) {
  Split s(a, descalings, range);
  const std::vector<Score>& scores = deciding[of];
  std::vector<std::vector<TileScores>> tiles;
  tiles.reserve(deciding.size());
  for (const auto& row : deciding) tiles.push_back(tiles_of(a, s.factors, range, row));
  const Replay replayed = replay(a, tiles, of);
  s.ambiguous = replayed.ambiguous;
  const int end = std::min(range.end, static_cast<int>(scores.size()));
  double off = 0;
  int top = range.begin;
  for (int j = range.begin; j < end; ++j) {
    off = std::max(off, worst_of(s.factors, scores[j]));
    if (scores[j].x > scores[top].x) top = j;
  }
  s.max = scores[top].x;
  s.tokens.reserve(std::max(end - range.begin, 0));
  s.rescales = count_rescales(a, tiles[of], off);
  for (int j = range.begin; j < end; ++j) {
    Token t;
    t.index = j;
    t.x = scores[j].x;
    t.spread = scores[j].spread;
    t.top = j == top;
    t.m = replayed.tiles[(j - range.begin) / a.tile_tokens];
    if (s.factors.u_p == 0) t.m.off = t.m.off_likely = 0;
    fill_theta(s.factors, s.max, s.rescales, majorised, t);
    fill_likely(s.factors, declared, s.max - t.x, t);
    fill_rounding(a, s.factors, majorised, t);
    s.l += t.w;
    s.l_declared += t.w * (a.l_from_rounded_p ? 1 + t.pi : 1);
    s.tokens.push_back(t);
  }
  s.log_l = std::log(s.l);
  s.lse = s.max + s.log_l;
  s.lse_declared = s.max + std::log(s.l_declared);
  return s;
}

// Where P lies between its significands, whatever the power of two, to a quarter of their spacing.
std::uint64_t place_of(const Arithmetic& a, double log) {
  const double log2 = log / kNaturalOfLog2;
  return static_cast<std::uint64_t>((log2 - std::floor(log2)) *
                                    std::ldexp(1.0, std::min(a.p_bits, 12) + 2));
}

// N of every token, among all of its row: equal scores; where the schedule is not known, equal
// places of P, under one max or under those of the schedule, whichever are more.
void count_repeats(const Arithmetic& a, bool declared, Row& row) {
  std::unordered_map<std::uint64_t, double> of_score, of_difference;
  const auto score = [&](const Token& t) {
    return declared ? std::bit_cast<std::uint64_t>(t.x + 0.0) : place_of(a, t.x);
  };
  for (const Split& s : row.splits) {
    for (const Token& t : s.tokens) {
      ++of_score[score(t)];
      if (!declared) ++of_difference[place_of(a, t.x - t.m.max)];
    }
  }
  for (Split& s : row.splits) {
    for (Token& t : s.tokens) {
      t.repeats = of_score[score(t)];
      if (!declared) t.repeats = std::max(t.repeats, of_difference[place_of(a, t.x - t.m.max)]);
    }
  }
}

// The rows whose scores decide about this one's max, itself among them.
std::vector<std::int64_t> deciding_rows(const Problem& problem, const Arithmetic& a,
                                        std::int64_t row) {
  if (a.lazy_rescale == 0) return {row};
  const std::int64_t token = row / problem.h_q, head = row % problem.h_q;
  const std::int64_t first = head / a.lazy_heads * a.lazy_heads;
  std::vector<std::int64_t> rows;
  for (std::int64_t h = first; h < std::min<std::int64_t>(first + a.lazy_heads, problem.h_q); ++h)
    rows.push_back(token * problem.h_q + h);
  return rows;
}

}  // namespace

double growth_of(double x, bool majorised) {
  return majorised && x <= 0.5 ? 2 * x / (2 - x) : std::expm1(std::min(x, 700.0));
}

Row::Row(const Problem& problem, const Inputs& inputs, const Contract& contract, int num_splits,
         std::int64_t row, bool majorised, bool declared, bool exact_q) {
  const Arithmetic& a = contract.arithmetic;
  const RowView view(problem, inputs, row);
  const std::vector<std::int64_t> rows = deciding_rows(problem, a, row);
  std::vector<std::vector<Score>> deciding;
  std::size_t of = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == row) of = i;
    deciding.push_back(
        scores_of(problem, a, RowView(problem, inputs, rows[i]), majorised, exact_q));
  }
  for (const TokenRange& range :
       live_splits(contract.split_rule, problem.s_kv[view.sequence()], num_splits)) {
    if (range.begin < view.visible())
      splits.push_back(
          make_split(a, descalings_of(problem), range, deciding, of, majorised, declared));
  }
  count_repeats(a, declared, *this);
}

}  // namespace attest::slow

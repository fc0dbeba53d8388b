// explain_*(): the bound of one element, term by term, two passes, nothing merged: slow and in the
// open. With |v - o| where reference() has |v| + |o|, it is at most reference()'s bound.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "reference/error_bound.hpp"
#include "reference/row_view.hpp"

namespace attest {
namespace {

// A token's share a_j of its split, and what may be wrong with it, relative, by cause.
struct TokenErrors {
  double share = 0, v = 0;
  double dot = 0, logit = 0, argument = 0, exp2 = 0, rescale = 0;  // of the weight
  double rounding = 0;                                             // of P
};

struct SplitView {
  SplitErrors errors;
  std::vector<TokenErrors> tokens;
  int rescales = 0;
  double max = 0, log_l = 0, lse = 0, o = 0;
  double share = 1, phi = 0;  // in the merge
};

double p_error(const SplitErrors& e, double p) {
  if (p >= e.p_min_normal) return e.p_relative;
  return e.p_relative == 0 || p == 0 ? e.p_relative : std::min(e.p_absolute / p, 1.0);
}

int count_rescales(const Arithmetic& a, const SplitErrors& errors, const std::vector<double>& x,
                   const std::vector<double>& spread) {
  std::vector<double> tiles;
  double off = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % a.tile_tokens == 0) tiles.push_back(x[i]);
    tiles.back() = std::max(tiles.back(), x[i]);
    off = std::max(off, logit_error(errors, x[i], spread[i]));
  }
  return most_rescales(tiles.data(), tiles.size(), 1, off, a.waves_per_split);
}

SplitView view_split(const Problem& problem, const RowView& row, const Contract& contract,
                     TokenRange range, int column) {
  const auto [begin, end] = row.seen(range);
  SplitView s;
  s.errors = split_errors(contract.arithmetic, range.end - range.begin);
  s.max = -std::numeric_limits<double>::infinity();
  std::vector<double> x, spread;
  for (int j = begin; j < end; ++j) {
    double dot = 0, magnitude = 0;
    const std::uint16_t* const k = row.k_row(j);
    for (int d = 0; d < kDQk; ++d) {
      const double product = double{row.q(d)} * decode_bf16(k[d]);
      dot += product;
      magnitude += std::fabs(product);
    }
    x.push_back(problem.sm_scale * dot);
    spread.push_back(std::fabs(problem.sm_scale) * magnitude);
    s.max = std::max(s.max, x.back());
  }
  s.rescales = count_rescales(contract.arithmetic, s.errors, x, spread);
  double l = 0;
  for (double score : x) l += std::exp(score - s.max);
  s.log_l = std::log(l);
  s.lse = s.max + s.log_l;
  for (std::size_t i = 0; i < x.size(); ++i) {
    TokenErrors t;
    const double p = std::exp(x[i] - s.max);
    t.share = p / l;
    t.v = row.k(begin + static_cast<int>(i), column);
    t.dot = s.errors.dot * spread[i];
    t.logit = s.errors.logit * std::fabs(x[i]);
    t.argument = s.errors.exp_argument * (s.max - x[i]);
    t.exp2 = x[i] - s.max < kFlushLogit ? 1 : s.errors.weight_exp;
    t.rescale = s.rescales * s.errors.weight_rescale;
    t.rounding = p_error(s.errors, p);
    s.o += t.share * t.v;
    s.tokens.push_back(t);
  }
  return s;
}

std::vector<SplitView> view_splits(const Problem& problem, const Inputs& inputs,
                                   const Contract& contract, int num_splits, std::int64_t row,
                                   int split, int column) {
  const RowView view(problem, inputs, row);
  const auto ranges = live_splits(contract.split_rule, problem.s_kv[view.sequence()], num_splits);
  std::vector<SplitView> splits;
  for (int s = 0; s < static_cast<int>(ranges.size()); ++s) {
    if ((split < 0 || split == s) && ranges[s].begin < view.visible()) {
      splits.push_back(view_split(problem, view, contract, ranges[s], column));
    }
  }
  return splits;
}

struct Join {
  bool happens = false;
  double lse = 0, largest = -std::numeric_limits<double>::infinity(), o = 0;
};

Join merge(const Contract& contract, bool happens, std::vector<SplitView>& splits) {
  Join m;
  m.happens = happens;
  for (const auto& s : splits) m.largest = std::max(m.largest, s.lse);
  double sum = 0;
  for (const auto& s : splits) sum += std::exp(s.lse - m.largest);
  m.lse = m.largest + std::log(sum);
  for (auto& s : splits) {
    s.share = std::exp(s.lse - m.lse);
    m.o += s.share * s.o;
    if (!happens) continue;
    s.phi = merge_weight_error(contract.arithmetic, static_cast<int>(splits.size()), s.max, s.log_l,
                               m.largest - s.lse);
  }
  return m;
}

enum Name {
  kDot,
  kLogit,
  kExp,
  kRescale,
  kRounding,
  kAccumulate,
  kDenominator,
  kMerge,
  kStored,
  kFloor,
  kNames
};
constexpr const char* kTermNames[kNames] = {
    "Q.K accumulation", "logit rounding", "exp2",        "running-max rescale", "P rounded",
    "P.V accumulation", "denominator",    "split merge", "bf16 partials",       "subnormal floor"};

std::vector<BoundTerm> named(const Arithmetic& arithmetic, const double (&values)[kNames],
                             double quotient) {
  std::vector<BoundTerm> terms;
  for (int i = 0; i < kNames; ++i) {
    if (values[i] == 0) continue;
    std::string name = kTermNames[i];
    if (i == kRounding && arithmetic.p_bits == 8) name += " to bf16";
    terms.push_back({name, i == kFloor ? values[i] : values[i] / quotient});
  }
  std::sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
    return std::tie(b.value, a.name) < std::tie(a.value, b.name);
  });
  return terms;
}

// Weights' errors of one token, each times `scale`, in their named places.
double add_weight_terms(const TokenErrors& t, double scale, double (&values)[kNames]) {
  values[kDot] += scale * t.dot;
  values[kLogit] += scale * t.logit;
  values[kExp] += scale * (t.exp2 + t.argument);
  values[kRescale] += scale * t.rescale;
  return t.dot + t.logit + t.exp2 + t.argument + t.rescale;
}

// What stands below the fraction: 1 - all that is wrong with the denominator.
double quotient_of(const Arithmetic& a, const std::vector<SplitView>& splits, const Join& m) {
  double wrong = m.happens ? merge_denominator_error(static_cast<int>(splits.size())) : 0;
  double ignored[kNames] = {};
  for (const auto& s : splits) {
    wrong += s.share * (s.phi + s.errors.denominates(s.rescales));
    for (const auto& t : s.tokens) {
      wrong += s.share * t.share * add_weight_terms(t, 0, ignored);
      if (a.l_from_rounded_p) wrong += s.share * t.share * t.rounding;
    }
  }
  return 1 - wrong;
}

void add_split_terms(const Arithmetic& a, const SplitView& s, double o, double (&values)[kNames]) {
  for (const auto& t : s.tokens) {
    const double share = s.share * t.share;
    const double theta = add_weight_terms(t, share * std::fabs(t.v - o), values);
    values[kMerge] += share * s.phi * std::fabs(t.v - o);
    values[kRounding] +=
        share * (1 + theta) * t.rounding * std::fabs(t.v - (a.l_from_rounded_p ? o : 0));
    values[kAccumulate] += share * (1 + theta) * s.errors.accumulates(s.rescales) * std::fabs(t.v);
  }
  values[kDenominator] += s.share * s.errors.denominates(s.rescales) * std::fabs(o);
  values[kFloor] += s.share * static_cast<double>(s.tokens.size()) * 0x1p-126;
}

}  // namespace

std::vector<BoundTerm> explain_o(const Problem& problem, const Inputs& inputs,
                                 const Contract& contract, int num_splits, std::int64_t row,
                                 int split, int column) {
  const Arithmetic& a = contract.arithmetic;
  auto splits = view_splits(problem, inputs, contract, num_splits, row, split, column);
  if (splits.empty()) return {};
  const Join m = merge(contract, split < 0 && num_splits > 1, splits);
  const auto live = static_cast<int>(splits.size());
  double values[kNames] = {};
  for (const auto& s : splits) {
    add_split_terms(a, s, m.o, values);
    if (!m.happens) continue;
    values[kMerge] += s.share * merge_accumulate_error(a, live) * std::fabs(s.o);
    if (a.bf16_partials) values[kStored] += s.share * half_ulp_bf16(std::fabs(s.o));
  }
  if (m.happens) values[kMerge] += merge_denominator_error(live) * std::fabs(m.o);
  return named(a, values, quotient_of(a, splits, m));
}

std::vector<BoundTerm> explain_lse(const Problem& problem, const Inputs& inputs,
                                   const Contract& contract, int num_splits, std::int64_t row,
                                   int split) {
  const Arithmetic& a = contract.arithmetic;
  auto splits = view_splits(problem, inputs, contract, num_splits, row, split, 0);
  if (splits.empty()) return {};
  const Join m = merge(contract, split < 0 && num_splits > 1, splits);
  const double quotient = quotient_of(a, splits, m);
  double values[kNames] = {};
  for (const auto& s : splits) {
    for (const auto& t : s.tokens) {
      add_weight_terms(t, s.share * t.share, values);
      if (a.l_from_rounded_p) values[kRounding] += s.share * t.share * t.rounding;
    }
    values[kDenominator] += s.share * s.errors.denominates(s.rescales);
    values[kMerge] += s.share * s.phi;
  }
  if (m.happens) {
    values[kMerge] += merge_denominator_error(static_cast<int>(splits.size())) +
                      quotient * merged_lse_error(a, m.lse, m.lse - m.largest);
  } else {
    values[kLogit] += quotient * stored_lse_error(a, splits[0].max, splits[0].log_l);
  }
  return named(a, values, quotient);
}

}  // namespace attest

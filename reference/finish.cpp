// From sums to values and bounds: one row's splits, each as a kernel's partial result, and their
// merge. The formulas are those of error_bound.cpp with |v - o| <= |v| + |o|, so that one pass over
// V is enough.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/formats.hpp"
#include "reference/job.hpp"

namespace attest {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
// The reference's own error has the same terms as the kernel's with 2^-53 for 2^-24; fp32 sums of
// `weighted` are low by at most 2^-14.
constexpr double kOwnError = 1 + 0x1p-20;
constexpr double kInflate = 1 + 0x1p-13;
// Below this 1 - sum a theta, first-order terms say nothing.
constexpr double kLeastQuotient = 0.05;

float rounded_up(double bound) {
  const double own = bound * kOwnError;
  if (!(own < 3e38)) return std::numeric_limits<float>::infinity();
  const auto stored = static_cast<float>(own);
  return stored < own ? std::nextafter(stored, std::numeric_limits<float>::infinity()) : stored;
}

// One split as one row sees it. Relative quantities are over l: theta = sum a theta.
struct SplitOfRow {
  int split = 0, tokens = 0;
  double max = 0, l = 0, log_l = 0, lse = -kInf;
  double theta = 0, rounding = 0, least_error = 0, worst_exponent = 0;
  double denominator = 0;  // all that is wrong with l, relative
  double cap_factor = 0;   // |o| of any kernel <= cap_factor * largest |v|
  double share = 1;        // A_s
  double phi = 0;          // relative error of the share
  double top = 0;          // share, in the split, of the token with the largest score
  double top_error = 0;    // of that share, absolute: what multiplies v - o
  double o[kDV], bound[kDV], weighted[kDV], largest_v[kDV], top_v[kDV];
};

// Sums the split's chunks; `weighted` and `o` are not yet over l.
RowSums sum_chunks(const Job& job, int split, int r, SplitOfRow& s) {
  RowSums sums;
  sums.clear();
  std::fill_n(s.o, kDV, 0.0);
  std::fill_n(s.weighted, kDV, 0.0);
  std::fill_n(s.largest_v, kDV, 0.0);
  for (std::size_t c = 0; c < job.chunks.size(); ++c) {
    if (job.chunks[c].split != split) continue;
    const ChunkSums& chunk = job.sums[c];
    sums.add(chunk.rows);
    for (int d = 0; d < kDV; ++d) {
      s.o[d] += chunk.o[r * kDV + d];
      s.weighted[d] += chunk.weighted[r * kDV + d];
      s.largest_v[d] = std::max(s.largest_v[d], static_cast<double>(chunk.largest_v[d]));
    }
  }
  return sums;
}

SplitOfRow sum_split(const Problem& problem, const Inputs& inputs, const Job& job, int split,
                     int r) {
  SplitOfRow s;
  s.split = split;
  s.tokens = std::min(job.splits[split].end, job.block.visible[r]) - job.splits[split].begin;
  const RowSums sums = sum_chunks(job, split, r, s);
  const SplitErrors& e = job.errors[split];
  const double rescales = job.split_largest[split].rescales[r];
  s.max = job.split_largest[split].score[r];
  s.l = sums.l[r];
  s.log_l = std::log(s.l);
  s.lse = s.max + s.log_l;
  s.theta = sums.theta[r] / s.l;
  s.rounding = e.l_from_rounded_p ? sums.rounding[r] / s.l : 0;
  s.least_error = sums.least_error[r];
  s.worst_exponent = sums.worst_exponent[r];
  s.denominator = s.theta + e.denominates(rescales) * (1 + s.theta) + s.rounding;
  const double p_grows = e.p_min_normal > 0x1p-126 ? 1 : e.p_relative;
  s.cap_factor = 1 + 2 * (p_grows + e.denominates(rescales) + e.accumulates(rescales));
  s.top = 1 / s.l;
  s.top_error = sums.top_error[r] / s.l;
  // No score but NaN or -inf: there is no such token, and no bound either.
  const int top = std::max(static_cast<int>(job.split_largest[split].token[r]), 0);
  const std::uint16_t* top_v = token_row(problem, inputs, job.block.sequence, top);
  for (int d = 0; d < kDV; ++d) {
    s.o[d] /= s.l;
    s.weighted[d] *= kInflate / s.l;
    s.top_v[d] = decode_bf16(top_v[d]);
  }
  return s;
}

void bound_split(SplitOfRow& s) {
  const double quotient = 1 - s.denominator;
  for (int d = 0; d < kDV; ++d) {
    const double size = std::fabs(s.o[d]),
                 floor = s.tokens * (0x1p-126 + 0x1p-149 * s.largest_v[d]);
    const double linear = (s.weighted[d] + size * (s.denominator - s.top_error) +
                           s.top_error * std::fabs(s.top_v[d] - s.o[d])) /
                          quotient;
    const double cap = s.cap_factor * s.largest_v[d] + size;
    s.bound[d] = (quotient > kLeastQuotient ? std::min(linear, cap) : cap) + floor;
  }
}

// The error of a logarithm whose argument is off by `relative`; `worst_exponent` holds when that is
// too much.
double log_error(double relative, double worst_exponent) {
  const double quotient = 1 - relative;
  return quotient > kLeastQuotient ? relative / quotient : worst_exponent + 1;
}

double bound_lse(const Contract& contract, const SplitOfRow& s) {
  return log_error(s.denominator, s.worst_exponent) +
         stored_lse_error(contract.arithmetic, s.max, s.log_l);
}

struct Merged {
  double lse = -kInf, largest_lse = -kInf;
  double denominator = 0;  // all that is wrong with the sum of the weights, relative
  double times_o = 0;      // the part of it that multiplies |o|: the rest is centred
  double worst_exponent = 0;
};

Merged merge_shares(const Contract& contract, std::vector<SplitOfRow>& splits) {
  const int live = static_cast<int>(splits.size());
  Merged m;
  for (const auto& s : splits) m.largest_lse = std::max(m.largest_lse, s.lse);
  double sum = 0;
  for (const auto& s : splits) sum += std::exp(s.lse - m.largest_lse);
  m.lse = m.largest_lse + std::log(sum);
  m.denominator = m.times_o = merge_denominator_error(live);
  for (auto& s : splits) {
    s.share = std::exp(s.lse - m.lse);
    const double exponent = merge_weight_error(contract.arithmetic, live, s.max, s.log_l,
                                               std::fabs(m.largest_lse - s.lse));
    s.phi = std::expm1(std::min(exponent, 700.0));
    m.denominator += s.share * (s.denominator * (1 + s.phi) + s.phi);
    m.times_o += s.share * (s.denominator - s.top_error) * (1 + s.phi);
    m.worst_exponent = std::max(m.worst_exponent, s.worst_exponent + exponent);
  }
  return m;
}

// At least sum a|v - o| of a split. sum a|v| is not kept: `weighted` / its least error, and the
// largest |v|, bound it; where one token holds most of the weight, what is left for the others
// does.
double spread_of(const SplitOfRow& s, int d) {
  const double size = std::fabs(s.o[d]);
  const double sum_v = std::min(s.weighted[d] / s.least_error, s.largest_v[d]);
  const double others = (1 - s.top) * (s.largest_v[d] + size);
  return std::min(sum_v + size, others + s.top * std::fabs(s.top_v[d] - s.o[d]));
}

// One column of the merge.
void merge_column(const Contract& contract, const std::vector<SplitOfRow>& splits, const Merged& m,
                  int d, double& o, double& bound) {
  const auto live = static_cast<int>(splits.size());
  const double add = merge_accumulate_error(contract.arithmetic, live);
  const double stored = contract.arithmetic.bf16_partials ? 0x1p-8 : 0;
  double error = 0, cap = 0, floor = 0;
  o = 0;
  for (const auto& s : splits) o += s.share * s.o[d];
  for (const auto& s : splits) {
    const double size = std::fabs(s.o[d]) + s.bound[d];  // of a kernel's partial result
    const double centred = s.top_error * (1 + s.phi) * std::fabs(s.top_v[d] - o) +
                           s.phi * (spread_of(s, d) + std::fabs(s.o[d] - o));
    error += s.share * (s.weighted[d] * (1 + s.phi) + centred + add * size);
    if (stored > 0) error += s.share * (1 + s.phi) * half_ulp_bf16(size);
    floor += s.share * s.tokens * (0x1p-126 + 0x1p-149 * s.largest_v[d]);
    cap = std::max(cap, s.cap_factor * s.largest_v[d]);
  }
  const double quotient = 1 - m.denominator;
  const double linear = (error + std::fabs(o) * m.times_o) / quotient;
  cap = cap * (1 + 2 * (stored + add)) + std::fabs(o);
  bound = (quotient > kLeastQuotient ? std::min(linear, cap) : cap) + floor;
}

void store_merged(const Contract& contract, std::int64_t row, std::vector<SplitOfRow>& splits,
                  Reference& result) {
  const Merged m = merge_shares(contract, splits);
  result.expected.lse[row] = m.lse;
  result.tiers.t0.lse[row] =
      rounded_up(log_error(m.denominator, m.worst_exponent) +
                 merged_lse_error(contract.arithmetic, m.lse, m.lse - m.largest_lse));
  for (int d = 0; d < kDV; ++d) {
    double bound = 0;
    merge_column(contract, splits, m, d, result.expected.o[row * kDV + d], bound);
    result.tiers.t0.o[row * kDV + d] = rounded_up(bound);
  }
}

void store_split(double o_lse_bound, const SplitOfRow& s, double* o, float* bound, double& lse,
                 float& lse_bound) {
  lse = s.lse;
  lse_bound = rounded_up(o_lse_bound);
  std::copy_n(s.o, kDV, o);
  for (int d = 0; d < kDV; ++d) bound[d] = rounded_up(s.bound[d]);
}

}  // namespace

void finish_row(const Problem& problem, const Inputs& inputs, const Contract& contract,
                const Job& job, int row_of_block, Reference& result) {
  Expected& expected = result.expected;
  Bound& bound = result.tiers.t0;
  const std::int64_t row = std::int64_t{1} * inputs.qo_indptr[job.block.sequence] * problem.h_q +
                           job.block.first_row + row_of_block;
  std::vector<SplitOfRow> seen;
  for (int split = 0; split < static_cast<int>(job.splits.size()); ++split) {
    if (job.splits[split].begin >= job.block.visible[row_of_block]) break;
    SplitOfRow s = sum_split(problem, inputs, job, split, row_of_block);
    bound_split(s);
    const double lse_bound = bound_lse(contract, s);
    if (expected.num_splits == 1) {
      store_split(lse_bound, s, &expected.o[row * kDV], &bound.o[row * kDV], expected.lse[row],
                  bound.lse[row]);
      return;
    }
    const std::int64_t part = row * expected.num_splits + split;
    store_split(lse_bound, s, &expected.partial_o[part * kDV], &bound.partial_o[part * kDV],
                expected.partial_lse[part], bound.partial_lse[part]);
    seen.push_back(s);
  }
  if (!seen.empty()) store_merged(contract, row, seen, result);
}

}  // namespace attest

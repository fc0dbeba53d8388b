#include "reference/score_tests.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "harness/core/formats.hpp"
#include "harness/core/random.hpp"
#include "reference/alike.hpp"
#include "reference/vector.hpp"

namespace attest {
namespace {

std::vector<std::vector<ScoreTests::Filter>> filters(std::size_t observed, std::size_t count) {
  return std::vector(observed, std::vector<ScoreTests::Filter>(count));
}

// The edges of each split: its first and last token.
int edge_token(const BlockJob& job, std::size_t edge) {
  const TokenRange& split = job.splits[edge / 2];
  return edge % 2 == 0 ? split.begin : split.end - 1;
}

std::size_t tile_count(const Chunk& chunk) {
  return static_cast<std::size_t>((chunk.end - chunk.begin + kValueTile - 1) / kValueTile);
}

std::size_t slot_of(double value, std::size_t slots) {
  return mix64(std::bit_cast<std::uint32_t>(static_cast<float>(value))) & (slots - 1);
}

}  // namespace

// e / s^2 and 1 / s^2 of each element of a job's rows. What a right kernel leaves is the rounding
// of the emulated value, but where that lies so close to a boundary that the kernel's own noise may
// carry it across: by one spacing, with the probability that the noise reaches it.
struct ScoreTests::Residuals {
  std::vector<double> over_variance, inverse;  // [rows, 512]; zeros where there is no meaning

  // `all_rows` are the rows of the case.
  Residuals(const BlockJob& job, std::int64_t first_row, const Reference& result,
            std::span<const std::uint16_t> observed, const Arithmetic& arithmetic,
            std::int64_t all_rows)
      : over_variance(std::size_t{1} * job.block.rows * kDV),
        inverse(std::size_t{1} * job.block.rows * kDV) {
    const Rounding rounding =
        arithmetic.o_truncates ? Rounding::kTowardZero : Rounding::kNearestEven;
    // An error anywhere within the radius, where most of that is the rounding of stored partials, or
    // of sums that are always rounded one way.
    const bool is_uniform = arithmetic.bf16_partials || rounds_one_way(arithmetic.matrix_unit);
    const double sigmas = is_uniform ? std::sqrt(3.0) : kLambda;
    // Elements of one value have one rounding error: they count as one.
    const std::size_t slots = std::bit_ceil(2 * inverse.size());
    std::vector<std::uint32_t> repeats(slots);
    const auto centre = [&](std::size_t i) {
      const std::size_t at = first_row * kDV + i;
      return result.expected.o[at] + result.tiers.p_shift.o[at];
    };
    for (std::size_t i = 0; i < inverse.size(); ++i) ++repeats[slot_of(centre(i), slots)];
    // Rows that attend to the same few tokens have partials that differ by less than a bf16 ulp:
    // where these are stored, they round together although no two are equal. A column then counts
    // as one over all rows.
    const double blocks = std::ceil(1.0 * all_rows / job.block.rows);
    const auto alike = [&](double c) {
      const double equal = repeats[slot_of(c, slots)];
      return arithmetic.bf16_partials ? std::max(equal * blocks, 1.0 * all_rows) : equal;
    };
    for (std::size_t i = 0; i < inverse.size(); ++i) {
      const std::size_t at = first_row * kDV + i;
      const double c = centre(i), sigma = result.tiers.t2p.o[at] / sigmas;
      const double actual = decode_bf16(observed[at]);
      const double rounded = decode_bf16(encode_bf16(c, rounding));
      if (!std::isfinite(actual) || !std::isfinite(sigma) || !std::isfinite(rounded)) continue;
      const double half = half_ulp_bf16(std::fabs(c)), off = std::fabs(c - rounded);
      const double to_boundary = rounding == Rounding::kNearestEven
                                     ? std::max(half - off, 0.0)
                                     : std::min(off, std::max(2 * half - off, 0.0));
      const double crosses =
          sigma > 0 ? std::erfc(to_boundary / sigma * M_SQRT1_2) : 0;  // either way: at most twice
      const double noise = sigma * sigma + 4 * half * half * crosses;
      if (!(noise > 0)) continue;
      inverse[i] = 1 / (noise * alike(c));
      over_variance[i] = (actual - rounded) * inverse[i];
    }
  }
};

void ScoreTests::Filter::join(const Filter& other) {
  along += other.along;
  squared += other.squared;
  allowed += other.allowed;
}

// What is allowed along the direction is one number for all elements of a row: it adds up.
double ScoreTests::Filter::z() const {
  return squared > 0 ? along / std::sqrt(squared + allowed * allowed) : 0;
}

ScoreTests::ScoreTests(const Problem& problem, const Inputs& inputs, const Contract& contract,
                       std::vector<std::span<const std::uint16_t>> observed)
    : problem_(problem),
      inputs_(inputs),
      contract_(contract),
      observed_(std::move(observed)),
      gain_(observed_.size()),
      temperature_(observed_.size()),
      largest_(observed_.size()) {}

namespace {

// A row's sums over the columns d with one d % 8 each.
void add_lanes(ScoreTests::Filter& filter, const double* along, const double* squared,
               double tolerance) {
  double of_row = 0;
  for (int lane = 0; lane < kScoreLanes; ++lane) {
    filter.along += along[lane];
    of_row += squared[lane];
  }
  filter.squared += of_row;
  filter.allowed += tolerance * of_row;
}

// g[d] of 8 columns at a time, by `direction`, of which a right kernel may add the share
// `tolerance`.
template <class Direction>
void add_along(ScoreTests::Filter& filter, const double* e, const double* inverse, double tolerance,
               const Direction& direction) {
  Double8 along{}, squared{};
  for (int d = 0; d < kDV; d += 8) {
    const Double8 g = direction(d);
    along += load<Double8>(e + d) * g;
    squared += g * g * load<Double8>(inverse + d);
  }
  alignas(64) double of_along[kScoreLanes], of_squared[kScoreLanes];
  store(of_along, along);
  store(of_squared, squared);
  add_lanes(filter, of_along, of_squared, tolerance);
}

Double8 widened(const float* from) { return __builtin_convertvector(load<Float8>(from), Double8); }

}  // namespace

void ScoreTests::score_tiles_of_row(const BlockJob& job, const Residuals& residuals,
                                    const Tolerances& tolerances, const double* o, double lse,
                                    int r, std::size_t i, OfJob& scores) const {
  const bool on_device = !job.tile_lanes.empty();
  std::size_t tile = 0;
  for (std::size_t c = 0; c < job.chunks.size(); ++c) {
    const ChunkSums& sums = job.sums[c];
    const int split = job.chunks[c].split;
    const double scale = std::exp(job.split_largest[split].score[r] - lse);
    const double of_value = scale * problem_.kv_scale;  // the blocks are sums over codes
    for (std::size_t t = 0; t < tile_count(job.chunks[c]); ++t, ++tile) {
      if (job.splits[split].begin >= job.block.visible[r]) continue;
      Filter& filter = scores.tiles[i][tile];
      const double tolerance = tolerances.tiles[tile];
      if (on_device) {
        const double* lanes = job.tile_lanes[i] + (tile * kBlockRows + r) * 2 * kScoreLanes;
        add_lanes(filter, lanes, lanes + kScoreLanes, tolerance);
        continue;
      }
      const double a = scale * sums.block_weight[t * kBlockRows + r];
      const float* values = &sums.blocks[(t * kBlockRows + r) * kDV];
      const std::size_t row = std::size_t{1} * r * kDV;
      add_along(filter, &residuals.over_variance[row], &residuals.inverse[row], tolerance,
                [&](int d) { return of_value * widened(values + d) - a * load<Double8>(o + d); });
    }
  }
}

void ScoreTests::fill_residuals(const BlockJob& job, const Reference& result, std::size_t output,
                                std::size_t index, std::size_t first_split,
                                TileResiduals& to) const {
  const std::int64_t first_row = first_row_of(problem_, inputs_, job.block);
  const Residuals residuals(job, first_row, result, observed_[output], contract_.arithmetic,
                            problem_.rows());
  const std::size_t at = index * kBlockRows * kDV;
  std::copy(residuals.over_variance.begin(), residuals.over_variance.end(), &to.over_variance[at]);
  std::copy(residuals.inverse.begin(), residuals.inverse.end(), &to.inverse[at]);
  std::copy_n(&result.expected.o[first_row * kDV], job.block.rows * kDV, &to.centre[at]);
  for (std::size_t s = 0; s < job.splits.size(); ++s) {
    for (int r = 0; r < job.block.rows; ++r) {
      to.scales[(first_split + s) * kBlockRows + r] =
          std::exp(job.split_largest[s].score[r] - result.expected.lse[first_row + r]);
    }
  }
}

void ScoreTests::score_row(const BlockJob& job, const Reference& result, const Residuals& residuals,
                           const Tolerances& tolerances, int r, std::size_t i,
                           OfJob& scores) const {
  const std::int64_t row = first_row_of(problem_, inputs_, job.block) + r;
  const double* o = &result.expected.o[row * kDV];
  const double lse = result.expected.lse[row];
  const auto along = [&](Filter& filter, double tolerance, const auto& direction) {
    add_along(filter, &residuals.over_variance[std::size_t{1} * r * kDV],
              &residuals.inverse[std::size_t{1} * r * kDV], tolerance, direction);
  };
  along(scores.gain[i], tolerances.gain, [&](int d) { return load<Double8>(o + d); });
  along(scores.temperature[i], tolerances.temperature,
        [&](int d) { return widened(&result.temperature_o[row * kDV + d]); });
  score_tiles_of_row(job, residuals, tolerances, o, lse, r, i, scores);
  for (std::size_t edge = 0; edge < scores.tokens[i].size(); ++edge) {
    const int token = edge_token(job, edge);
    if (token >= job.block.visible[r]) continue;
    const double a = std::exp(job.scores.x[std::size_t{1} * token * kBlockRows + r] - lse);
    const Elements v = token_row(problem_, inputs_, job.block.sequence, token);
    const double unit = problem_.kv_scale;
    along(scores.tokens[i][edge], tolerances.tokens[edge], [&](int d) {
      const Double8 value = unit * __builtin_convertvector(load_elements(v + d), Double8);
      return a * (value - load<Double8>(o + d));
    });
  }
  if (result.expected.num_splits == 1) return;
  for (std::size_t s = 0; s < job.splits.size(); ++s) {
    if (job.splits[s].begin >= job.block.visible[r]) break;
    const std::int64_t part = row * result.expected.num_splits + static_cast<std::int64_t>(s);
    const double a = std::exp(result.expected.partial_lse[part] - lse);
    const double* of_split = &result.expected.partial_o[part * kDV];
    along(scores.splits[i][s], tolerances.splits[s],
          [&](int d) { return a * (load<Double8>(of_split + d) - load<Double8>(o + d)); });
  }
}

// The relative error of x: that of its product with the scale, and, of a matrix unit that does not
// round to nearest, b u spread of each score in one direction. Along the temperature's, sum a (x -
// mean)(v - o), that is at most its root mean square over that of x - mean (Cauchy and Schwarz).
double ScoreTests::of_temperature(const BlockJob& job, const Reference& result, int r) const {
  const double of_scale = job.errors.empty() ? 0 : job.errors[0].exp_argument;
  const double bias = dot_bias(contract_.arithmetic.matrix_unit);
  if (bias == 0) return of_scale;
  const double lse = result.expected.lse[first_row_of(problem_, inputs_, job.block) + r];
  double mean = 0, square = 0, spread_square = 0;
  for (int token = 0; token < job.block.visible[r]; ++token) {
    const std::size_t at = std::size_t{1} * token * kBlockRows + r;
    const double x = job.scores.x[at] - lse, a = std::exp(x), spread = job.scores.spread[at];
    if (!(a > 0)) continue;
    mean += a * x;
    square += a * x * x;
    spread_square += a * spread * spread;
  }
  const double variance = square - mean * mean;
  return of_scale + (variance > 0 ? bias * std::sqrt(spread_square / variance) : 0);
}

// What a right kernel may add along a direction: the relative error of the weights of a tile, a
// token, a split; of the sums; of the scale.
ScoreTests::Tolerances ScoreTests::tolerances_of(const BlockJob& job, const Reference& result,
                                                 int r) const {
  const Arithmetic& a = contract_.arithmetic;
  const std::int64_t row = first_row_of(problem_, inputs_, job.block) + r;
  const int live = static_cast<int>(job.splits.size());
  const int descales = descales_of(problem_).of_logit;
  Tolerances of;
  of.temperature = of_temperature(job, result, r);
  of.splits.resize(live);
  std::vector<double> of_tokens(live);
  Alike alike(problem_, inputs_, job, r);
  for (int s = 0; s < live; ++s) {
    if (job.splits[s].begin >= job.block.visible[r]) continue;
    const SplitErrors& e = job.errors[s];
    const double rescales = job.split_largest[s].rescales[r], max = job.split_largest[s].score[r];
    double merge = 0, lse = result.expected.lse[row];
    if (live > 1) {
      const std::int64_t part = row * result.expected.num_splits + s;
      const double below = std::fabs(lse - result.expected.partial_lse[part]) + std::log(live);
      lse = result.expected.partial_lse[part];
      merge = merge_weight_error(a, live, max, lse - max, below, descales);
      of.splits[s] = (result.tiers.t0.partial_lse[part] + merge) *
                     alike.elsewhere(job.splits[s].begin, job.splits[s].end);
    }
    for (std::size_t c = job.first_chunk[s]; c < job.first_chunk[s + 1]; ++c)
      of_tokens[s] = std::max(of_tokens[s], job.sums[c].rows.worst_exponent[r] + merge);
    const double sums = kLambda * kU * std::sqrt((e.accumulate_roundings + rescales) / 3) +
                        e.accumulate_bias + e.denominates(rescales) +
                        merge_accumulate_error(a, live) + merge;
    of.gain = std::max(of.gain, sums);
  }
  for (const Chunk& chunk : job.chunks) {
    for (int begin = chunk.begin; begin < chunk.end; begin += kValueTile) {
      const int end = std::min(begin + kValueTile, chunk.end);
      of.tiles.push_back(of_tokens[chunk.split] * alike.elsewhere(begin, end));
    }
  }
  for (std::size_t edge = 0; edge < 2 * job.splits.size(); ++edge) {
    const int token = edge_token(job, edge);
    of.tokens.push_back(of_tokens[edge / 2] * alike.elsewhere(token, token + 1));
  }
  return of;
}

ScoreTests::OfJob ScoreTests::run(const BlockJob& job, const Reference& result,
                                  const std::vector<Tolerances>& tolerances) const {
  std::size_t tiles = 0;
  for (const Chunk& chunk : job.chunks) tiles += tile_count(chunk);
  const std::size_t n = observed_.size();
  OfJob scores{std::vector<Filter>(n), std::vector<Filter>(n), filters(n, tiles),
               filters(n, job.splits.size()), filters(n, 2 * job.splits.size())};
  const std::int64_t first_row = first_row_of(problem_, inputs_, job.block);
  for (std::size_t i = 0; i < n; ++i) {
    const Residuals residuals(job, first_row, result, observed_[i], contract_.arithmetic,
                              problem_.rows());
    for (int r = 0; r < job.block.rows; ++r) {
      if (job.block.visible[r] > 0) score_row(job, result, residuals, tolerances[r], r, i, scores);
    }
  }
  return scores;
}

void ScoreTests::add(const BlockJob& job, const OfJob& scores) {
  if (job.block.sequence != sequence_) {
    close_sequence();
    sequence_ = job.block.sequence;
    for (const Chunk& chunk : job.chunks) {
      for (int begin = chunk.begin; begin < chunk.end; begin += kValueTile) {
        places_.push_back(
            {"tile", sequence_, chunk.split, begin, std::min(begin + kValueTile, chunk.end)});
      }
    }
    for (int s = 0; s < static_cast<int>(job.splits.size()); ++s)
      places_.push_back({"split", sequence_, s, job.splits[s].begin, job.splits[s].end});
    for (std::size_t edge = 0; edge < 2 * job.splits.size(); ++edge) {
      const int token = edge_token(job, edge);
      places_.push_back({"token", sequence_, static_cast<int>(edge / 2), token, token + 1});
    }
    of_sequence_ = filters(observed_.size(), places_.size());
  }
  for (std::size_t i = 0; i < observed_.size(); ++i) {
    gain_[i].join(scores.gain[i]);
    temperature_[i].join(scores.temperature[i]);
    std::size_t place = 0;
    for (const auto* part : {&scores.tiles[i], &scores.splits[i], &scores.tokens[i]}) {
      for (const Filter& filter : *part) of_sequence_[i][place++].join(filter);
    }
  }
}

void ScoreTests::close_sequence() {
  for (std::size_t i = 0; sequence_ >= 0 && i < observed_.size(); ++i) {
    for (std::size_t p = 0; p < places_.size(); ++p) {
      const Place& at = places_[p];
      const double z = of_sequence_[i][p].z();
      auto found = std::find_if(largest_[i].begin(), largest_[i].end(),
                                [&](const Score& s) { return s.filter == at.filter; });
      if (found == largest_[i].end()) found = largest_[i].insert(found, Score{at.filter});
      if (std::fabs(z) > std::fabs(found->z))
        *found = {at.filter, z, at.sequence, at.split, at.begin, at.end};
    }
  }
  places_.clear();
}

std::vector<std::vector<Score>> ScoreTests::largest() const {
  ScoreTests all = *this;
  all.close_sequence();
  for (std::size_t i = 0; i < observed_.size(); ++i) {
    all.largest_[i].push_back({"gain", gain_[i].z()});
    all.largest_[i].push_back({"temperature", temperature_[i].z()});
  }
  return all.largest_;
}

}  // namespace attest

#include "harness/blame_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "harness/core/formats.hpp"
#include "reference/row_view.hpp"

namespace attest {
namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
constexpr double kLog2e = 1.44269504088896340736;

// q.k of each token, natural units, in its two parts.
struct Dots {
  std::vector<double> latent, rope;
};

Dots dots_of(const Subject& s, const RowView& view, int tokens) {
  const bool scaled = s.contract.arithmetic.scaled_q;
  const float q_scale = s.problem.sm_scale * static_cast<float>(kLog2e);
  double q[kDQk], k[kDQk];
  for (int d = 0; d < kDQk; ++d)
    q[d] = scaled ? decode_bf16(encode_bf16(view.q_code(d) * q_scale)) : view.q(d);
  const double scale = scaled ? 1 / kLog2e : s.problem.sm_scale;
  Dots dots;
  for (int j = 0; j < tokens; ++j) {
    for (int d = 0; d < kDQk; ++d) k[d] = view.k(j, d);
    double lanes[16] = {};
    for (int d = 0; d < kDV; d += 16) {
      for (int i = 0; i < 16; ++i) lanes[i] += q[d + i] * k[d + i];
    }
    double latent = 0, rope = 0;
    for (double lane : lanes) latent += lane;
    for (int d = kDV; d < kDQk; ++d) rope += q[d] * k[d];
    dots.latent.push_back(scale * latent);
    dots.rope.push_back(scale * rope);
  }
  return dots;
}

double rounded(const Supposed& h, double p) {
  if (h.p_bits >= 24 || !(p > 0)) return p;
  const int exponent = std::max(std::ilogb(p), h.p_min_exponent);
  const double quantum = std::ldexp(1.0, exponent + 1 - h.p_bits);
  const double units = p / quantum;
  return std::min((h.p_truncates ? std::floor(units) : std::nearbyint(units)) * quantum,
                  h.p_largest);
}

// What each token of a split has of l and of the sum of P V, over l.
struct SplitWeights {
  TokenRange tokens;
  std::vector<double> weights;
  double lse = kNone;
};

// One split under one supposition.
class SplitRun {
 public:
  SplitRun(const Arithmetic& a, const Supposed& h, const Dots& dots, TokenRange tokens)
      : a_(a), h_(h), dots_(dots), tokens_(tokens) {}

  SplitWeights run() {
    SplitWeights result{tokens_, std::vector<double>(std::max(tokens_.end - tokens_.begin, 0))};
    for (int j = tokens_.begin; j < tokens_.end; ++j) {
      if (is_there(j)) max_ = std::max(max_, score(j));
    }
    if (max_ == kNone) return result;
    for (int wave = 0; wave < a_.waves_per_split; ++wave) run_wave(wave, result.weights);
    for (double& weight : result.weights) weight /= l_;
    result.lse = max_ + std::log(l_);
    return result;
  }

 private:
  bool is_there(int j) const { return j < h_.skips.begin || j >= h_.skips.end; }
  double score(int j) const {
    return h_.score_times * (dots_.latent[j] + (h_.without_rope ? 0 : dots_.rope[j]));
  }

  template <class Visit>
  double each_tile(int wave, const Visit& visit) const {  // returns the last running max
    double running = kNone;
    const int stride = a_.tile_tokens * a_.waves_per_split;
    for (int t = tokens_.begin + wave * a_.tile_tokens; t < tokens_.end; t += stride) {
      const TokenRange tile{t, std::min(t + a_.tile_tokens, tokens_.end)};
      move_max(tile, running);
      visit(tile, running);
    }
    return running;
  }

  // What is never rescaled counts as relative to the wave's last max.
  void run_wave(int wave, std::vector<double>& weights) {
    const double last = each_tile(wave, [](TokenRange, double) {});
    each_tile(wave, [&](TokenRange tile, double running) {
      weigh_tile(tile, running, h_.rescales_l ? running : last, h_.rescales_o ? running : last,
                 weights);
    });
  }

  void move_max(TokenRange tile, double& running) const {
    if (!h_.has_max) {
      running = 0;
      return;
    }
    double largest = kNone;
    for (int j = tile.begin; j < tile.end; ++j) {
      if (is_there(j)) largest = std::max(largest, score(j));
    }
    const bool first = running == kNone;
    if (first || (largest - running) * kLog2e > a_.lazy_rescale) {
      running = std::max(running, largest);
    }
  }

  void weigh_tile(TokenRange tile, double running, double of_l, double of_o,
                  std::vector<double>& weights) {
    const double fade_l = std::exp(of_l - max_), fade_o = std::exp(of_o - max_);
    for (int j = tile.begin; j < tile.end; ++j) {
      if (!is_there(j)) continue;
      const double p = std::exp(score(j) - running);
      const double r = rounded(h_, p * a_.p_scale) / a_.p_scale;
      const int times = h_.counts_twice == j ? 2 : 1;
      l_ += times * (h_.l_from_rounded_p ? r : p) * fade_l;
      weights[j - tokens_.begin] = times * r * fade_o;
    }
  }

  const Arithmetic& a_;
  const Supposed& h_;
  const Dots& dots_;
  const TokenRange tokens_;
  double max_ = kNone, l_ = 0;
};

// The part of a split that a supposed kernel reads.
TokenRange part_of(const Supposed& h, const RowShape& shape, TokenRange split) {
  const int seen = std::min(shape.visible + (h.sees_one_more ? 1 : 0), shape.s_kv);
  TokenRange part{std::min(split.begin, seen), std::min(split.end, seen)};
  if (part.begin < part.end) part.end = std::min(part.end + h.splits_end_later, shape.s_kv);
  return part;
}

// One pass over V for all suppositions.
class Values {
 public:
  Values(const RowView& view, const RowShape& shape) : view_(view), shape_(shape) {}

  void sum(std::span<const Supposed> supposed, const std::vector<std::vector<SplitWeights>>& of,
           int tokens, EvaluatedRow& row) {
    for (int j = 0; j < tokens; ++j) {
      while (split_ + 1 < shape_.splits.size() && j >= shape_.splits[split_].end) ++split_;
      for (int d = 0; d < kDV; ++d) v_[d] = view_.k(j, d);
      for (std::size_t h = 0; h < supposed.size(); ++h) {
        if (!supposed[h].v_of_next) {
          add(j, of[h], row[h]);
          continue;
        }
        if (j > 0 && j < shape_.visible) add(j - 1, of[h], row[h]);
        if (j == shape_.visible - 1) add(j, of[h], row[h]);
      }
    }
  }

 private:
  // V of the token at hand with the weight of `owner`, which may be of the split before, too.
  void add(int owner, const std::vector<SplitWeights>& splits, std::vector<PartialResult>& to) {
    for (std::size_t s = split_ > 0 ? split_ - 1 : 0; s <= split_; ++s) {
      const TokenRange tokens = splits[s].tokens;
      if (owner < tokens.begin || owner >= tokens.end) continue;
      const double weight = splits[s].weights[owner - tokens.begin];
      double* const o = to[s].o.data();
      for (int d = 0; d < kDV; ++d) o[d] += weight * v_[d];
    }
  }

  const RowView& view_;
  const RowShape& shape_;
  std::size_t split_ = 0;
  alignas(64) double v_[kDV];
};

}  // namespace

Supposed as_declared(const Arithmetic& a) {
  Supposed declared;
  declared.l_from_rounded_p = a.l_from_rounded_p;
  // Which head of several must rescale is not known from one row.
  if (!a.schedule_declared || (a.lazy_rescale > 0 && a.lazy_heads > 1)) return declared;
  declared.p_bits = a.p_bits;
  declared.p_min_exponent = a.p_min_exponent;
  declared.p_largest = a.p_largest;
  declared.p_truncates = a.p_truncates;
  return declared;
}

RowShape shape_of(const Subject& s, const Inputs& inputs, std::int64_t row) {
  const RowView view(s.problem, inputs, row);
  const int s_kv = s.problem.s_kv[view.sequence()];
  return {view.visible(), s_kv, live_splits(s.contract.split_rule, s_kv, s.num_splits)};
}

EvaluatedRow evaluate_row(const Subject& s, const Inputs& inputs, std::int64_t row,
                          std::span<const Supposed> supposed) {
  const RowView view(s.problem, inputs, row);
  const RowShape shape = shape_of(s, inputs, row);
  const int h_q = s.problem.h_q;
  const std::int64_t next = row / h_q * h_q + (row % h_q + 1) % h_q;
  const int tokens = std::min(shape.visible + 1, shape.s_kv);
  const Dots own = dots_of(s, view, tokens);
  const Dots others = dots_of(s, RowView(s.problem, inputs, next), tokens);

  EvaluatedRow result;
  std::vector<std::vector<SplitWeights>> weights(supposed.size());
  for (std::size_t h = 0; h < supposed.size(); ++h) {
    const Dots& dots = supposed[h].next_heads_q ? others : own;
    result.emplace_back();
    for (const TokenRange& split : shape.splits) {
      const TokenRange part = part_of(supposed[h], shape, split);
      weights[h].push_back(SplitRun(s.contract.arithmetic, supposed[h], dots, part).run());
      for (double& weight : weights[h].back().weights) weight *= supposed[h].v_times;
      result[h].push_back({std::vector<double>(kDV), weights[h].back().lse});
    }
  }
  Values(view, shape).sum(supposed, weights, tokens, result);
  return result;
}

}  // namespace attest

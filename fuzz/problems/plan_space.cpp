#include "fuzz/problems/plan_space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fuzz/problems/plan_rules.hpp"

namespace attest {
namespace {

using plan::kTables;

int offset_of(Feature feature) {
  int offset = 0;
  for (int f = 0; f < static_cast<int>(feature); ++f)
    offset += static_cast<int>(values_of(Feature{f}).size());
  return offset;
}

// Where `length` ends in units of `unit`, as values 1.. of a feature: at an edge, one past it, one
// before it, between.
int edge_of(int length, int unit) {
  const int rest = length % unit;
  if (rest == 0) return 1;
  if (rest == 1) return 2;
  return rest == unit - 1 ? 3 : 4;
}

plan::Splits splits_value(int s_kv, int splits, const std::vector<TokenRange>& live) {
  if (splits == 1) return plan::Splits::kOne;
  if (s_kv == 0) return plan::Splits::kNoToken;
  if (splits > s_kv) return plan::Splits::kMoreThanTokens;
  if (live.size() == 1) return plan::Splits::kOneLive;
  if (static_cast<int>(live.size()) < splits) return plan::Splits::kSomeEmpty;
  const auto length = [](const TokenRange& range) { return range.end - range.begin; };
  return length(live.back()) == length(live.front()) ? plan::Splits::kEven : plan::Splits::kUneven;
}

int query_tokens_value(const Problem& p) {
  if (std::any_of(p.s_q.begin(), p.s_q.end(), [&](int s_q) { return s_q != p.s_q[0]; })) return 4;
  const int s_q = p.s_q[0];
  return s_q <= 2 ? s_q - 1 : s_q <= 4 ? 2 : 3;
}

int head_edge_value(int h_q) {
  if (h_q == 1) return 0;
  return edge_of(h_q, 16);
}

int grid_value(GridOrder order, int splits) {
  if (order == GridOrder::kAuto) return splits % 8 == 0 ? 0 : 1;
  return order == GridOrder::kSplitMinor ? 2 : 3;
}

int batch_value(int b) { return b == 1 ? 0 : b <= 4 ? 1 : b <= 20 ? 2 : 3; }

int scale_value(float scale) {
  if (scale == Problem{}.sm_scale) return 0;
  if (scale == 0) return 3;
  return scale > 0 ? 1 : 2;
}

int base_value(const Problem& p) {
  const std::int64_t bytes = p.page_base * p.page_size * kDQk * 2;
  // The first used row, or one of the next few hundred, lies past 2 GiB.
  return bytes == 0 ? 0 : bytes < (std::int64_t{1} << 31) - (1 << 20) ? 1 : 2;
}

}  // namespace

std::string_view name_of(Feature feature) { return kTables[static_cast<int>(feature)].name; }
std::span<const std::string_view> values_of(Feature feature) {
  return kTables[static_cast<int>(feature)].values;
}

Features features_of(const Problem& p, int seq, const Kernel& kernel) {
  const Contract contract = kernel.contract(p);
  const int s_kv = p.s_kv[seq], splits = kernel.num_splits(p);
  const int tile = contract.arithmetic.tile_tokens;
  const std::vector<TokenRange> live = live_splits(contract.split_rule, s_kv, splits);
  Features features{};
  const auto set = [&](Feature feature, auto value) {
    features[static_cast<int>(feature)] = static_cast<int>(value);
  };
  set(Feature::kLastTile, s_kv == 0 ? 0 : edge_of(live.back().end - live.back().begin, tile));
  set(Feature::kSplitTail, live.size() < 2 ? 0 : edge_of(live[0].end - live[0].begin, tile));
  set(Feature::kSplits, splits_value(s_kv, splits, live));
  set(Feature::kSplitSource, p.num_splits == 0);
  set(Feature::kPageSize, p.page_size == 1 ? 0 : p.page_size == 16 ? 1 : 2);
  set(Feature::kPageEdge, s_kv == 0 ? 0 : p.page_size == 1 ? 5 : edge_of(s_kv, p.page_size));
  set(Feature::kQueryTokens, query_tokens_value(p));
  set(Feature::kPartials, contract.arithmetic.bf16_partials);
  set(Feature::kWaves, contract.arithmetic.waves_per_split > 1);
  set(Feature::kHeadEdge, head_edge_value(p.h_q));
  set(Feature::kGrid, grid_value(p.grid_order, splits));
  set(Feature::kBatch, batch_value(p.b()));
  set(Feature::kUnseen, s_kv == 0 ? 1 : s_kv < p.s_q[seq] ? 2 : 0);
  set(Feature::kPrefix, p.shared_prefix == 0 ? 0 : p.shared_prefix < s_kv ? 1 : 2);
  set(Feature::kPageOrder, p.page_order);
  set(Feature::kPageBase, base_value(p));
  set(Feature::kSlack, p.kv_indptr_start > 0);
  set(Feature::kPads, (p.q_pad > 0) + 2 * (p.o_pad > 0));
  set(Feature::kScale, scale_value(p.sm_scale));
  return features;
}

std::string to_string(const FeaturePair& pair) {
  return fmt::format("{}: {} + {}: {}", name_of(pair.a), values_of(pair.a)[pair.value_a],
                     name_of(pair.b), values_of(pair.b)[pair.value_b]);
}

PlanSpace::PlanSpace()
    : values_(offset_of(Feature{kFeatures})),
      counts_(static_cast<std::size_t>(values_) * static_cast<std::size_t>(values_)) {}

void PlanSpace::add(const Case& c, const Kernel& kernel) {
  ++cases_;
  for (int seq = 0; seq < c.problem.b(); ++seq) {
    Features at = features_of(c.problem, seq, kernel);
    for (int f = 0; f < kFeatures; ++f) at[f] += offset_of(Feature{f});
    for (int a = 0; a < kFeatures; ++a) {
      for (int b = a + 1; b < kFeatures; ++b) ++counts_[at[a] * values_ + at[b]];
    }
  }
}

void PlanSpace::merge(const PlanSpace& other) {
  cases_ += other.cases_;
  for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

// Pairs for which wanted(count, possible).
template <class Wanted>
std::vector<FeaturePair> PlanSpace::select(Wanted&& wanted) const {
  std::vector<FeaturePair> pairs;
  for (int a = 0; a < kFeatures; ++a) {
    for (int b = a + 1; b < kFeatures; ++b) {
      const auto values_a = static_cast<int>(values_of(Feature{a}).size());
      const auto values_b = static_cast<int>(values_of(Feature{b}).size());
      for (int i = 0; i < values_a * values_b; ++i) {
        const FeaturePair pair{Feature{a}, Feature{b}, i / values_b, i % values_b};
        const int row = offset_of(pair.a) + pair.value_a, column = offset_of(pair.b) + pair.value_b;
        if (wanted(counts_[row * values_ + column],
                   why_impossible(pair.a, pair.value_a, pair.b, pair.value_b).empty())) {
          pairs.push_back(pair);
        }
      }
    }
  }
  return pairs;
}

int PlanSpace::seen() const {
  const auto pairs =
      select([](std::int64_t count, bool possible) { return possible && count > 0; });
  return static_cast<int>(pairs.size());
}

int PlanSpace::possible() const {
  return static_cast<int>(select([](std::int64_t, bool possible) { return possible; }).size());
}

std::vector<FeaturePair> PlanSpace::never_seen() const {
  return select([](std::int64_t count, bool possible) { return possible && count == 0; });
}

std::vector<FeaturePair> PlanSpace::seen_though_impossible() const {
  return select([](std::int64_t count, bool possible) { return !possible && count > 0; });
}

std::string PlanSpace::summary() const {
  return fmt::format("seen {} of {} pairs", seen(), possible());
}

}  // namespace attest

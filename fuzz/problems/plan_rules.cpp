#include "fuzz/problems/plan_rules.hpp"

#include <initializer_list>

namespace attest {
namespace plan {
namespace {

using Words = std::string_view;
constexpr Words kTileEnds[] = {"none", "full", "one token", "one short", "between"};
constexpr Words kSplits[] = {"one",        "many, no token", "more than tokens", "one live",
                             "some empty", "all live, even", "all live, uneven"};
constexpr Words kSources[] = {"given", "kernel's own rule"};
constexpr Words kPageSizes[] = {"1", "16", "64"};
constexpr Words kPageEdges[] = {"no token",   "at it",  "one past",
                                "one before", "inside", "pages of one token"};
constexpr Words kQueryTokens[] = {"1", "2", "3-4", "5-8", "ragged"};
constexpr Words kPartials[] = {"fp32", "bf16"};
constexpr Words kWaves[] = {"one", "several"};
constexpr Words kHeadEdges[] = {"one head", "at it", "one past", "one before", "inside"};
constexpr Words kGrids[] = {"auto, splits a multiple of 8", "auto, others", "split-minor",
                            "split-major"};
constexpr Words kBatches[] = {"1", "2-4", "5-20", "over 20"};
constexpr Words kUnseen[] = {"none", "all, s_kv = 0", "some, 0 < s_kv < s_q"};
constexpr Words kPrefixes[] = {"none", "a part", "all"};
constexpr Words kOrders[] = {"shuffled", "sequential", "reversed"};
constexpr Words kBases[] = {"0", "some pages", "2 GiB or more"};
constexpr Words kSlacks[] = {"none", "some"};
constexpr Words kPads[] = {"none", "q", "o", "both"};
constexpr Words kScales[] = {"usual", "other", "negative", "0"};

}  // namespace

constinit const std::array<FeatureTable, kFeatures> kTables = {{
    {"last tile", kTileEnds},
    {"last tile of inner splits", kTileEnds},
    {"splits", kSplits},
    {"number of splits", kSources},
    {"page size", kPageSizes},
    {"end to page edge", kPageEdges},
    {"s_q", kQueryTokens},
    {"partials", kPartials},
    {"waves that share a split", kWaves},
    {"heads to tile edge", kHeadEdges},
    {"grid", kGrids},
    {"batch", kBatches},
    {"rows that see nothing", kUnseen},
    {"shared prefix", kPrefixes},
    {"page order", kOrders},
    {"page base", kBases},
    {"table slack", kSlacks},
    {"pads", kPads},
    {"sm_scale", kScales},
}};

namespace {

// Values of a feature, by their indices.
struct Values {
  Feature feature;
  unsigned mask;
  bool has(Feature f, int value) const { return f == feature && (mask >> value & 1) != 0; }
};
constexpr Values only(Feature feature, std::initializer_list<int> values) {
  unsigned mask = 0;
  for (const int value : values) mask |= 1u << value;
  return {feature, mask};
}
constexpr Values all_but(Feature feature, std::initializer_list<int> values) {
  return {feature, ~only(feature, values).mask};
}

struct Rule {
  std::string_view reason;
  Values a, b;
};

constexpr int kOne = static_cast<int>(Splits::kOne);
constexpr int kNoToken = static_cast<int>(Splits::kNoToken);
constexpr int kMoreThanTokens = static_cast<int>(Splits::kMoreThanTokens);
constexpr int kOneLive = static_cast<int>(Splits::kOneLive);
constexpr int kSomeEmpty = static_cast<int>(Splits::kSomeEmpty);
constexpr int kEven = static_cast<int>(Splits::kEven);
constexpr int kUneven = static_cast<int>(Splits::kUneven);
using F = Feature;

constexpr std::string_view kEmpty =
    "a sequence without tokens has no tile, no page, no live split, no prefix";
constexpr std::string_view kTokens = "a sequence with tokens has a last tile, a page, a live split";
constexpr std::string_view kPages = "a page of one token has no edge but itself";
constexpr std::string_view kInner =
    "there are inner splits where two or more are live, and only there";
constexpr std::string_view kShortest =
    "of several live splits, some empty, all but the last have the rule's least length: whole "
    "tiles";
constexpr std::string_view kFewTokens = "under 8 tokens are less than a tile, a page or a split";
constexpr std::string_view kOneQuery = "a single query token sees all there is";
constexpr std::string_view kWholePages = "a shared prefix is whole pages";
constexpr std::string_view kEight = "one split is no multiple of 8";
constexpr std::string_view kRagged = "one sequence is as long as itself";
constexpr std::string_view kTileOf64 =
    "head tiles whose waves take all tokens are of 64 heads, all used";

constexpr Rule kRules[] = {
    {kEmpty, only(F::kLastTile, {0}), all_but(F::kPageEdge, {0})},
    {kEmpty, only(F::kLastTile, {0}), all_but(F::kUnseen, {1})},
    {kEmpty, only(F::kLastTile, {0}), all_but(F::kSplits, {kOne, kNoToken})},
    {kEmpty, only(F::kLastTile, {0}), all_but(F::kSplitTail, {0})},
    {kEmpty, only(F::kLastTile, {0}), all_but(F::kPrefix, {0})},
    {kEmpty, only(F::kPageEdge, {0}), all_but(F::kUnseen, {1})},
    {kEmpty, only(F::kPageEdge, {0}), all_but(F::kSplits, {kOne, kNoToken})},
    {kEmpty, only(F::kPageEdge, {0}), all_but(F::kSplitTail, {0})},
    {kEmpty, only(F::kPageEdge, {0}), all_but(F::kPrefix, {0})},
    {kEmpty, only(F::kUnseen, {1}), all_but(F::kSplits, {kOne, kNoToken})},
    {kEmpty, only(F::kUnseen, {1}), all_but(F::kSplitTail, {0})},
    {kEmpty, only(F::kUnseen, {1}), all_but(F::kPrefix, {0})},
    {kEmpty, only(F::kSplits, {kNoToken}), all_but(F::kPrefix, {0})},
    {kTokens, all_but(F::kLastTile, {0}), only(F::kPageEdge, {0})},
    {kTokens, all_but(F::kLastTile, {0}), only(F::kUnseen, {1})},
    {kTokens, all_but(F::kLastTile, {0}), only(F::kSplits, {kNoToken})},
    {kTokens, all_but(F::kPageEdge, {0}), only(F::kUnseen, {1})},
    {kTokens, all_but(F::kPageEdge, {0}), only(F::kSplits, {kNoToken})},
    {kTokens, all_but(F::kUnseen, {1}), only(F::kSplits, {kNoToken})},

    {kPages, only(F::kPageSize, {0}), only(F::kPageEdge, {1, 2, 3, 4})},
    {kPages, all_but(F::kPageSize, {0}), only(F::kPageEdge, {5})},
    {kWholePages, only(F::kPrefix, {2}), only(F::kPageEdge, {2, 3, 4})},

    {kInner, only(F::kSplits, {kOne, kNoToken, kOneLive}), all_but(F::kSplitTail, {0})},
    {kInner, only(F::kSplits, {kSomeEmpty, kEven, kUneven}), only(F::kSplitTail, {0})},
    {kShortest, only(F::kSplits, {kMoreThanTokens, kSomeEmpty}), only(F::kSplitTail, {2, 3, 4})},
    {kEight, only(F::kSplits, {kOne}), only(F::kGrid, {0})},

    {kFewTokens, only(F::kUnseen, {2}), only(F::kLastTile, {1, 3})},
    {kFewTokens, only(F::kUnseen, {2}), only(F::kPageEdge, {1, 3})},
    {kFewTokens, only(F::kUnseen, {2}), only(F::kSplits, {kSomeEmpty, kEven, kUneven})},
    {kFewTokens, only(F::kUnseen, {2}), all_but(F::kSplitTail, {0})},
    {kOneQuery, only(F::kUnseen, {2}), only(F::kQueryTokens, {0})},

    {kRagged, only(F::kBatch, {0}), only(F::kQueryTokens, {4})},
    {kTileOf64, only(F::kWaves, {0}), all_but(F::kHeadEdge, {1})},
};

}  // namespace
}  // namespace plan

std::string_view why_impossible(Feature a, int value_a, Feature b, int value_b) {
  for (const plan::Rule& rule : plan::kRules) {
    if ((rule.a.has(a, value_a) && rule.b.has(b, value_b)) ||
        (rule.a.has(b, value_b) && rule.b.has(a, value_a))) {
      return rule.reason;
    }
  }
  return {};
}

}  // namespace attest

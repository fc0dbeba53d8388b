#include "reference/model/defects.hpp"

#include <algorithm>
#include <cmath>

#include "harness/core/formats.hpp"

namespace attest::model {
namespace {

// The split of a sequence that defects of "one split" are in.
int target_split(int live) { return live / 2; }

std::vector<TokenRange> live_splits_of(const Setup& setup, int sequence) {
  return live_splits(setup.contract.split_rule, setup.problem.s_kv[sequence],
                     setup.options.num_splits);
}

bool holds(TokenRange range, int token) { return range.begin <= token && token < range.end; }

float to_bf16(float value) { return decode_bf16(encode_bf16(value)); }

// The page that the wrong one stands for: that of the target split's first token.
TokenRange target_page(const Setup& setup, const std::vector<TokenRange>& live) {
  const int size = setup.problem.page_size;
  const int page = live[target_split(static_cast<int>(live.size()))].begin / size;
  return {page * size, (page + 1) * size};
}

// One block of an fp8 cache, whose scale is applied twice.
constexpr int kScaledBegin = 128, kScaledEnd = 256;

void scale_token(Tile& tile, int token) {
  for (int d = kScaledBegin; d < kScaledEnd; ++d) {
    tile.keys[d * tile.lanes + token] *= 2;
    tile.values[token * kDV + d] *= 2;
  }
}

}  // namespace

Arithmetic planted_arithmetic(const Arithmetic& declared, Defect defect) {
  Arithmetic a = declared;
  if (defect == Defect::kTruncatesP) a.p_truncates = true;
  if (defect == Defect::kTruncatesO) a.o_truncates = true;
  if (defect == Defect::kRoundsPToFp8) {  // e4m3fn
    a.p_bits = 4;
    a.p_min_exponent = -6;
    a.p_largest = 448;
  }
  return a;
}

float planted_scale(float sm_scale, Defect defect) {
  switch (defect) {
    case Defect::kScaleOneThousandthOff:
      return sm_scale * 1.001f;
    case Defect::kScaleOnePercentOff:
      return sm_scale * 1.01f;
    case Defect::kScaleOfLatentDims:  // 1 / sqrt(512) where 1 / sqrt(576) belongs
      return sm_scale * std::sqrt(static_cast<float>(kDQk) / kDV);
    default:
      return sm_scale;
  }
}

bool touches(const Setup& setup, const Place& place) {
  const Defect defect = setup.options.defect;
  if (defect == Defect::kNone || stage_of(defect) == "stage2") return false;
  const int last = setup.problem.visible(place.sequence, place.query_token) - 1;
  const std::vector<TokenRange> live = live_splits_of(setup, place.sequence);
  switch (defect) {
    case Defect::kDropFirstToken:
    case Defect::kCountFirstTokenTwice:
      return place.split == 0;
    case Defect::kDropLastToken:
    case Defect::kDropLastTile:
    case Defect::kStaleToken:
      return holds(place.tokens, last);
    case Defect::kWrongPage: {
      const TokenRange page = target_page(setup, live);
      return place.tokens.begin < page.end && page.begin < place.tokens.end;
    }
    case Defect::kNextHeadsQInOneSplit:
    case Defect::kTokenScaledTwice:
    case Defect::kRescaleFivePercentOff:
    case Defect::kOneSplitsLseInBaseTwo:
    case Defect::kOneSplitsLseOff:
      return place.split == target_split(static_cast<int>(live.size()));
    default:
      return true;
  }
}

// ---- stage 1 ----

PlantedSplit::PlantedSplit(const Setup& setup, const Place& place)
    : setup_(setup),
      place_(place),
      visible_(setup.problem.visible(place.sequence, place.query_token)),
      live_(live_splits_of(setup, place.sequence)),
      spoiled_(setup.problem.h_q) {}

void PlantedSplit::queries(std::span<Head> heads) const {
  const bool target = place_.split == target_split(static_cast<int>(live_.size()));
  if (is(Defect::kNextHeadsQInOneSplit) && target) {
    for (std::size_t h = 0; h + 1 < heads.size(); ++h) std::swap(heads[h].q, heads[h + 1].q);
  }
  if (is(Defect::kSkipRope)) {
    for (Head& head : heads) std::fill(head.q.begin() + kDV, head.q.end(), 0.0f);
  }
}

void PlantedSplit::first_maxima(std::span<Head> heads) const {
  if (!is(Defect::kMaxStartsAtZero) && !is(Defect::kNoMaxSubtraction)) return;
  for (Head& head : heads) {
    for (Wave& wave : head.waves) wave.max = 0;
  }
}

void PlantedSplit::rows(TokenRange tile, TileRows& rows) const {
  const auto row_of = [&](int token) {
    return rows_of_tile(setup_, place_, {token, token + 1}).keys[0];
  };
  const auto take_out = [&](int token) {
    if (!holds(tile, token)) return;
    rows.keys.erase(rows.keys.begin() + (token - tile.begin));
    rows.values = rows.keys;
  };
  const auto add = [&](int token) {
    rows.keys.push_back(row_of(token));
    rows.values = rows.keys;
  };
  const auto read_from = [&](int token, int other) {
    rows.keys[token - tile.begin] = rows.values[token - tile.begin] = row_of(other);
  };
  const int last = visible_ - 1;
  if (is(Defect::kDropFirstToken)) take_out(0);
  if (is(Defect::kDropLastToken)) take_out(last);
  if (is(Defect::kDropLastTile) && holds(tile, last)) rows = {};
  if (is(Defect::kCountFirstTokenTwice) && holds(tile, 0)) add(0);
  if (is(Defect::kStaleToken) && holds(tile, last)) read_from(last, last / 2);
  // The comparison with the end of a split, or of what a query token sees, is <= in place of <.
  if (is(Defect::kMaskOffByOne) && tile.end == place_.tokens.end &&
      tile.end < setup_.problem.s_kv[place_.sequence]) {
    add(tile.end);
  }
  if (is(Defect::kWrongPage)) {
    const TokenRange page = target_page(setup_, live_);
    const int other = page.begin > 0 ? -setup_.problem.page_size : setup_.problem.page_size;
    for (int token = tile.begin; token < tile.end; ++token) {
      const int from = std::min(token + other, setup_.problem.s_kv[place_.sequence] - 1);
      if (holds(page, token)) read_from(token, from);
    }
  }
  if (is(Defect::kVOfNextToken)) {
    for (int token = tile.begin; token < tile.end; ++token) {
      rows.values[token - tile.begin] = row_of(std::min(token + 1, last));
    }
  }
}

void PlantedSplit::loaded(TokenRange tile, Tile& loaded) const {
  if (!is(Defect::kTokenScaledTwice)) return;
  const int token = live_[target_split(static_cast<int>(live_.size()))].begin;
  if (holds(tile, token)) scale_token(loaded, token - tile.begin);
}

void PlantedSplit::scores(std::span<Head> heads) const {
  if (!is(Defect::kIgnoresScores)) return;
  for (Head& head : heads) {
    std::fill(head.scores.begin(), head.scores.end(), 0.0f);
    head.tile_max = 0;
  }
}

void PlantedSplit::before_move(int wave, std::span<const Head> heads) {
  switch (setup_.options.defect) {
    case Defect::kSkipRescaleOfO:
    case Defect::kSkipRescaleOfOInLastTile:
    case Defect::kSkipRescaleOfL:
    case Defect::kRescaleFivePercentOff:
    case Defect::kRescalesOTwice:
    case Defect::kNoMaxSubtraction:
      break;
    default:
      return;
  }
  before_.clear();
  for (const Head& head : heads) before_.push_back(head.waves[wave]);
}

void PlantedSplit::after_move(TokenRange tile, int wave, std::span<Head> heads) {
  if (before_.empty()) return;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    bool spoiled = spoiled_[h] != 0;
    spoil_move(tile, before_[h], heads[h].waves[wave], spoiled);
    spoiled_[h] = spoiled ? 1 : 0;
  }
}

void PlantedSplit::spoil_move(TokenRange tile, const Wave& before, Wave& now, bool& spoiled) const {
  if (is(Defect::kNoMaxSubtraction)) {
    now = before;
    return;
  }
  if (before.max == kNoScore || before.max == now.max) return;  // there was nothing to scale
  if (is(Defect::kSkipRescaleOfO)) now.o = before.o;
  if (is(Defect::kSkipRescaleOfOInLastTile) && tile.end == place_.tokens.end) now.o = before.o;
  if (is(Defect::kSkipRescaleOfL)) now.l = before.l;
  if (is(Defect::kRescalesOTwice)) {
    const float fade = weight_of(setup_, before.max - now.max);
    for (float& value : now.o) value *= fade;
  }
  const bool target = place_.split == target_split(static_cast<int>(live_.size()));
  if (is(Defect::kRescaleFivePercentOff) && target && !spoiled) {
    for (float& value : now.o) value *= 1.05f;
    spoiled = true;  // one rescale
  }
}

void PlantedSplit::accumulated(Wave& wave) const {
  if (!is(Defect::kAccumulatesOInBf16)) return;
  for (float& value : wave.o) value = to_bf16(value);
}

void PlantedSplit::result(RowResult& result) const {
  if (is(Defect::kStoresPartialsInBf16)) {
    for (float& value : result.o) value = to_bf16(value);
  }
  if (place_.split != target_split(static_cast<int>(live_.size()))) return;
  if (is(Defect::kOneSplitsLseInBaseTwo)) result.lse *= kLog2e;
  if (is(Defect::kOneSplitsLseOff)) result.lse += 0.01f;
}

// ---- stage 2 ----

bool skips_split(const Setup& setup, int split, int live) {
  return setup.options.defect == Defect::kDropSplit && split == target_split(live);
}

int planted_lse_head(const Setup& setup, int head) {
  const bool next = setup.options.defect == Defect::kMergesByNextHeadsLse;
  return next ? (head + 1) % setup.problem.h_q : head;
}

void plant_merge(const Setup& setup, std::span<const RowResult> splits, int live,
                 RowResult& merged) {
  if (setup.options.defect == Defect::kAveragesSplits) {
    merged.o.fill(0);
    for (const RowResult& split : splits) {
      for (int d = 0; d < kDV; ++d) merged.o[d] += split.o[d] / static_cast<float>(splits.size());
    }
  }
  // A weight of zero does not hide what an unwritten partial result holds.
  if (setup.options.defect == Defect::kNanOfEmptySplit && live < setup.options.num_splits) {
    for (float& value : merged.o) value += 0.0f * std::numeric_limits<float>::quiet_NaN();
  }
}

// ---- stores ----

void plant_final(const Setup& setup, RowResult& value) {
  switch (setup.options.defect) {
    case Defect::kStoresLseInBf16:
      value.lse = to_bf16(value.lse);
      break;
    case Defect::kLseInBaseTwo:
      value.lse *= kLog2e;
      break;
    case Defect::kSwapsTwoDims:
      std::swap(value.o[100], value.o[300]);
      break;
    case Defect::kZeros:
      value.o.fill(0);
      break;
    default:
      break;
  }
}

int planted_head(const Setup& setup, int head) {
  return setup.options.defect == Defect::kHeadsSwapped && head < 2 && setup.problem.h_q > 1
             ? 1 - head
             : head;
}

}  // namespace attest::model

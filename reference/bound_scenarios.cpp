#include "reference/bound_scenarios.hpp"

#include <cmath>
#include <ostream>

#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

using Unit = MatrixUnit;

constexpr Arithmetic on(Unit unit, Arithmetic a = {}) {
  a.matrix_unit = unit;
  return a;
}
constexpr Arithmetic fp8(Arithmetic a = {}) {  // e4m3fn
  a.matrix_unit = Unit::kCdna3Fp8;
  a.p_bits = 4;
  a.p_min_exponent = -6;
  a.p_largest = 448;
  return a;
}
constexpr Arithmetic fnuz(Arithmetic a = {}) {
  a = fp8(a);
  a.p_min_exponent = -7;
  a.p_largest = 240;
  return a;
}
constexpr Arithmetic fp32_p(Arithmetic a = {}) {
  if (a.matrix_unit == Unit::kSequentialFma) a.matrix_unit = Unit::kCdna3Bf16;
  a.p_bits = 24;
  return a;
}

std::uint16_t* key(const Scenario& s, Inputs& in, int token) {
  const int page_size = s.problem.page_size;
  const std::int64_t page = in.kv_indices[in.kv_indptr[0] + token / page_size];
  return in.kv.data<std::uint16_t>() + (page * page_size + token % page_size) * kDQk;
}

// q is 0 but for its last column, where it is 1: the score is sm_scale times the key's last column.
void score_by_last(const Scenario& s, Inputs& in, int token, double score) {
  key(s, in, token)[kDQk - 1] = encode_bf16(score / s.sm_scale);
}
void query_last(const Scenario& s, Inputs& in) {
  for (std::int64_t row = 0; row < s.problem.rows(); ++row) {
    auto* q = in.q.data<std::uint16_t>() + row * s.problem.q_stride_h();
    for (int d = 0; d < kDQk; ++d) q[d] = encode_bf16(d == kDQk - 1 ? 1 : 0);
  }
}

// Scores good to 2^-24 of themselves: in three columns.
void near_boundary(const Scenario& s, Inputs& in) {
  const double scale = s.arithmetic.p_scale, spacing = scale < 2 ? 0x1p-8 : 0x1p-6;
  const double boundary = std::log1p(-spacing / 2 / scale);
  query_last(s, in);
  auto* q = in.q.data<std::uint16_t>();
  q[kDQk - 3] = q[kDQk - 2] = q[kDQk - 1];
  for (int j = 0; j < s.s_kv; ++j) {
    double rest = j == 0 ? 0 : (boundary + (j - s.s_kv / 2) * 0x1p-26) / s.sm_scale;
    for (int d = kDQk - 3; d < kDQk; ++d) {
      key(s, in, j)[d] = encode_bf16(rest);
      rest -= decode_bf16(key(s, in, j)[d]);
    }
  }
}

void edit(const Scenario& s, Inputs& in) {
  const int tile = s.arithmetic.tile_tokens;
  switch (s.edit) {
    case Edit::kNone:
      return;
    case Edit::kRepeatedKeys:
    case Edit::kRepeatedTokens:
      for (int j = 2; j < s.s_kv; ++j) {
        for (int d = s.edit == Edit::kRepeatedKeys ? kDV : 0; d < kDQk; ++d)
          key(s, in, j)[d] = key(s, in, j % 2)[d];
      }
      for (std::int64_t row = 0; row < s.problem.rows() && s.edit == Edit::kRepeatedKeys; ++row) {
        auto* q = in.q.data<std::uint16_t>() + row * s.problem.q_stride_h();
        for (int d = 0; d < kDV; ++d) q[d] = 0;
      }
      return;
    case Edit::kDrift:
      query_last(s, in);
      for (int j = 0; j < s.s_kv; ++j)
        score_by_last(s, in, j, (j % tile == 0 ? 0 : -0.75) + 0.0625 * (j / tile));
      return;
    case Edit::kHugeFlushed:
      query_last(s, in);
      for (int j = 0; j < s.s_kv; ++j) score_by_last(s, in, j, j == 3 ? -90 : -0.01 * j);
      for (int d = 0; d < kDV; ++d) key(s, in, 3)[d] = encode_bf16(0x1p125);
      return;
    case Edit::kTinyValues:
      for (int j = 0; j < s.s_kv; ++j) {
        for (int d = 0; d < kDV; ++d)
          key(s, in, j)[d] = encode_bf16(0x1p-120 * decode_bf16(key(s, in, j)[d]));
      }
      return;
    case Edit::kJumps:
      query_last(s, in);
      for (int j = 0; j < s.s_kv; ++j) {
        const int t = j / tile;
        score_by_last(s, in, j, (t == 0 ? 0 : t == 1 ? 5 : 0.5 * t) - 0.01 * (j % tile));
      }
      return;
    case Edit::kAtThreshold:
      query_last(s, in);
      for (int j = 0; j < s.s_kv; ++j)
        key(s, in, j)[kDQk - 1] =
            encode_bf16(j == tile ? s.arithmetic.lazy_rescale : -0.125 * (j % tile));
      return;
    case Edit::kNearBoundary:
      near_boundary(s, in);
      return;
  }
}

std::vector<Scenario> units_and_data() {
  const Arithmetic bf16 = on(Unit::kCdna3Bf16);
  return {
      {.name = "Bf16P", .arithmetic = bf16, .num_splits = 2},
      {.name = "SequentialFma", .arithmetic = on(Unit::kSequentialFma)},
      {.name = "Cdna1", .arithmetic = on(Unit::kCdna1Bf16)},
      {.name = "Cdna2", .arithmetic = on(Unit::kCdna2Bf16)},
      {.name = "Cdna3Fp8", .arithmetic = on(Unit::kCdna3Fp8)},
      {.name = "Hopper", .arithmetic = on(Unit::kHopperBf16)},
      {.name = "UnknownUnit", .arithmetic = on(Unit::kUnknown)},
      {.name = "Fp32P", .arithmetic = fp32_p(), .num_splits = 3},
      {.name = "Fp32POneSigned", .arithmetic = fp32_p(), .family = Family::kPositiveV},
      {.name = "LargeLogits", .arithmetic = fp32_p(), .family = Family::kVeryNegative},
      {.name = "HugeLogits", .arithmetic = bf16, .family = Family::kHugeLogits, .num_splits = 2},
      {.name = "FarBelowTheMax", .arithmetic = fp32_p(), .family = Family::kStaircase},
      {.name = "ManyRescales",
       .arithmetic = fp32_p({.tile_tokens = 4}),
       .family = Family::kStaircase,
       .s_kv = 400,
       .sm_scale = 1.0f / 200},
      {.name = "Needle", .arithmetic = bf16, .family = Family::kNeedle, .num_splits = 2},
      {.name = "NeedleFp32P", .arithmetic = fp32_p(), .family = Family::kNeedle, .num_splits = 2},
      {.name = "AllEqual", .arithmetic = bf16, .family = Family::kAllEqual, .num_splits = 3},
      {.name = "Cancelling", .arithmetic = bf16, .family = Family::kCancelling},
  };
}

std::vector<Scenario> formats_of_p() {
  const Arithmetic bf16 = on(Unit::kCdna3Bf16);
  return {
      {.name = "Fp8P", .arithmetic = fp8(), .num_splits = 2},
      {.name = "Fp8PSubnormal",
       .arithmetic = fp8(),
       .family = Family::kHugeLogits,
       .sm_scale = 1.0f / 600},
      {.name = "FnuzTruncates", .arithmetic = fnuz({.p_truncates = true})},
      {.name = "Saturates",
       .arithmetic = fnuz({.p_scale = 256, .tile_tokens = 16, .lazy_rescale = 8}),
       .family = Family::kStaircase,
       .sm_scale = 1.0f / 60},
      {.name = "ScaleNoPowerOfTwo", .arithmetic = fp8({.p_scale = 448}), .s_kv = 20},
      {.name = "ScaleNoPowerOfTwoOfManyTokens", .arithmetic = fp8({.p_scale = 448}), .s_kv = 400},
      {.name = "Scale448Fp32P", .arithmetic = fp32_p({.p_scale = 448}), .s_kv = 40},
      {.name = "NearBoundary", .arithmetic = bf16, .s_kv = 60, .edit = Edit::kNearBoundary},
      {.name = "NearBoundaryScaled",
       .arithmetic = on(Unit::kCdna3Bf16, {.p_scale = 3}),
       .s_kv = 60,
       .edit = Edit::kNearBoundary},
      {.name = "Fp8POfALongSum",
       .arithmetic = {.p_bits = 4, .p_min_exponent = -6, .p_largest = 448, .tile_tokens = 1024},
       .s_kv = 20000,
       .columns = {300}},
      {.name = "Lr",
       .arithmetic = on(Unit::kCdna3Bf16, {.l_from_rounded_p = true}),
       .num_splits = 3},
      {.name = "LrFp8", .arithmetic = fp8({.l_from_rounded_p = true}), .num_splits = 2},
      {.name = "LrFp8Subnormal",
       .arithmetic = fp8({.l_from_rounded_p = true}),
       .family = Family::kHugeLogits,
       .sm_scale = 1.0f / 600},
      {.name = "LrSaturates",
       .arithmetic =
           fnuz({.p_scale = 256, .l_from_rounded_p = true, .tile_tokens = 16, .lazy_rescale = 8}),
       .family = Family::kStaircase,
       .sm_scale = 1.0f / 60},
      {.name = "LrTruncates",
       .arithmetic = on(Unit::kCdna2Bf16, {.p_truncates = true, .l_from_rounded_p = true})},
      {.name = "Truncates", .arithmetic = on(Unit::kCdna3Bf16, {.p_truncates = true})},
  };
}

std::vector<Scenario> merges() {
  return {
      {.name = "KRelative", .arithmetic = fp32_p({.k_relative = 0x1p-8}), .sm_scale = 1.0f / 100},
      {.name = "KRelativeWide",
       .arithmetic = fp32_p({.k_relative = 0x1p-8}),
       .sm_scale = 1.0f / 40},
      {.name = "KRelativeWideLr",
       .arithmetic = fp8({.l_from_rounded_p = true, .k_relative = 0x1p-8}),
       .num_splits = 2,
       .sm_scale = 1.0f / 40},
      {.name = "ScaledQ", .arithmetic = on(Unit::kCdna3Bf16, {.scaled_q = true}), .num_splits = 2},
      {.name = "ScaledQLrLargeLogits",
       .arithmetic = fp32_p({.scaled_q = true}),
       .family = Family::kVeryNegative,
       .num_splits = 2},
      {.name = "Bf16Partials", .arithmetic = fp32_p({.bf16_partials = true}), .num_splits = 3},
      {.name = "Sequential", .arithmetic = fp32_p({.merge = Merge::kSequential}), .num_splits = 4},
      {.name = "DivisionFree",
       .arithmetic = fp32_p({.merge = Merge::kDivisionFree}),
       .num_splits = 4},
      {.name = "DivisionFreeLargeLse",
       .arithmetic = fp32_p({.merge = Merge::kDivisionFree}),
       .family = Family::kVeryNegative,
       .num_splits = 4},
      {.name = "LseInLn",
       .arithmetic = fp32_p({.lse_in_log2 = false}),
       .family = Family::kVeryNegative,
       .num_splits = 3},
      {.name = "ManySplits",
       .arithmetic = fp32_p(),
       .s_kv = 1500,
       .num_splits = 20,
       .columns = {300}},
  };
}

std::vector<Scenario> schedules() {
  return {
      {.name = "CoarseUnits",
       .arithmetic = fp32_p({.exp_ulp = 32, .log_ulp = 64, .divide_u = 50}),
       .num_splits = 3,
       .sm_scale = 1.0f / 400},
      {.name = "Waves",
       .arithmetic = fp32_p({.tile_tokens = 4, .waves_per_split = 4}),
       .sm_scale = 1.0f / 400},
      {.name = "WavesBf16",
       .arithmetic = on(Unit::kCdna3Bf16, {.tile_tokens = 16, .waves_per_split = 4}),
       .family = Family::kStaircase},
      {.name = "Lazy",
       .arithmetic = fp32_p({.tile_tokens = 8, .lazy_rescale = 8}),
       .family = Family::kStaircase,
       .sm_scale = 1.0f / 60},
      {.name = "LazyWavesBf16",
       .arithmetic =
           on(Unit::kCdna3Bf16, {.tile_tokens = 8, .waves_per_split = 2, .lazy_rescale = 4}),
       .family = Family::kStaircase,
       .num_splits = 2,
       .sm_scale = 1.0f / 60},
      {.name = "LazyInGroups",
       .arithmetic = on(Unit::kCdna3Bf16, {.tile_tokens = 8, .lazy_rescale = 1, .lazy_heads = 4}),
       .h_q = 8,
       .sm_scale = 1.0f / 12,
       .row_step = 3,
       .columns = {300}},
      {.name = "LazyGroupsRescaleBelowARecord",
       .arithmetic = fp32_p({.tile_tokens = 4, .lazy_rescale = 8, .lazy_heads = 2}),
       .s_kv = 40,
       .h_q = 2,
       .edit = Edit::kJumps},
      {.name = "LazyGroupsThatDoNotFit",
       .arithmetic = on(Unit::kCdna3Bf16, {.lazy_rescale = 2, .lazy_heads = 12}),
       .s_kv = 40,
       .h_q = 24,
       .row_step = 7,
       .columns = {300}},
      {.name = "LazyAmbiguous",
       .arithmetic = on(Unit::kCdna3Bf16, {.tile_tokens = 8, .lazy_rescale = 4}),
       .num_splits = 2,
       .sm_scale = 0.69314718f,
       .edit = Edit::kAtThreshold},
      // Above by 90 u of 4 ln 2: within 83 u, the score's error, and 16 u for the difference.
      {.name = "LazyAmbiguousForTheDifference",
       .arithmetic = on(Unit::kCdna3Bf16, {.tile_tokens = 8, .lazy_rescale = 4}),
       .sm_scale = 0.69314718f * (1 + 90 * 0x1p-24f),
       .edit = Edit::kAtThreshold},
  };
}

std::vector<Scenario> repeats_and_rows() {
  const Arithmetic bf16 = on(Unit::kCdna3Bf16);
  return {
      {.name = "RepeatedKeys", .arithmetic = bf16, .num_splits = 2, .edit = Edit::kRepeatedKeys},
      {.name = "RepeatedTokensFp8", .arithmetic = fp8(), .edit = Edit::kRepeatedTokens},
      {.name = "RepeatedKeysFp32P", .arithmetic = fp32_p(), .edit = Edit::kRepeatedKeys},
      {.name = "Drift", .arithmetic = fp8({.tile_tokens = 16}), .edit = Edit::kDrift},
      {.name = "DriftBf16P",
       .arithmetic = on(Unit::kCdna3Bf16, {.tile_tokens = 16}),
       .family = Family::kPositiveV,
       .s_kv = 800,
       .edit = Edit::kDrift},
      {.name = "HugeFlushed", .arithmetic = bf16, .s_kv = 40, .edit = Edit::kHugeFlushed},
      {.name = "TinyValues", .arithmetic = fp32_p(), .num_splits = 2, .edit = Edit::kTinyValues},
      {.name = "Mtp",
       .arithmetic = bf16,
       .s_kv = 70,
       .num_splits = 2,
       .h_q = 3,
       .s_q = 8,
       .row_step = 5},
      {.name = "MtpTilesThatARowDoesNotSee",
       .arithmetic = on(Unit::kCdna3Bf16, {.tile_tokens = 2, .waves_per_split = 3}),
       .s_kv = 40,
       .h_q = 3,
       .s_q = 8,
       .row_step = 4},
      {.name = "LongAccumulation",
       .arithmetic = on(Unit::kSequentialFma, {.p_bits = 24, .tile_tokens = 1024}),
       .s_kv = 4000,
       .sm_scale = 1.0f / 4000,
       .columns = {300}},
      {.name = "OneToken", .arithmetic = bf16, .s_kv = 1},
  };
}

Scenario stored(Scenario s, float q_scale, float kv_scale) {
  s.q_type = s.kv_type = Storage::kFp8;
  s.q_scale = q_scale;
  s.kv_scale = kv_scale;
  return s;
}

std::vector<Scenario> stored_in_fp8() {
  const Family very_negative = Family::kVeryNegative;  // |x| is about the sum of |products|
  std::vector<Scenario> all = {
      stored({.name = "Fp8Stored", .arithmetic = fnuz({.p_scale = 128}), .num_splits = 2}, 0.7f, 3),
      stored({.name = "Fp8StoredByPowersOfTwo",
              .arithmetic = fnuz(),
              .family = Family::kPositiveV,
              .num_splits = 2},
             0.125f, 0.5f),
      stored({.name = "Fp8StoredLargeLogits",
              .arithmetic = fp32_p({.bf16_partials = true}),
              .family = very_negative,
              .num_splits = 3},
             0.3f, 0.3f),
      stored({.name = "Fp8StoredNaturalLse",
              .arithmetic = fp32_p({.merge = Merge::kDivisionFree, .lse_in_log2 = false}),
              .family = very_negative,
              .num_splits = 2,
              .sm_scale = 3000},
             1e-3f, 1e-3f),
      stored({.name = "Fp8StoredLazy",
              .arithmetic = fnuz({.p_scale = 128, .tile_tokens = 8, .lazy_rescale = 8}),
              .family = Family::kStaircase,
              .sm_scale = 1.0f / 60},
             0.3f, 0.1f),
      // A rounding of o, among few others.
      stored({.name = "Fp8StoredOneToken", .arithmetic = fp32_p(), .s_kv = 1}, 0.7f, 3),
      stored({.name = "Fp8CacheAlone",
              .arithmetic = on(Unit::kCdna3Bf16),
              .family = Family::kStaircase,
              .num_splits = 2},
             1, 0.11f),
  };
  all.back().q_type = Storage::kBf16;
  return all;
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Scenario& scenario, std::ostream* os) { *os << scenario.name; }

std::vector<Scenario> bound_scenarios() {
  std::vector<Scenario> all;
  for (const auto& some : {units_and_data(), formats_of_p(), merges(), schedules(),
                           repeats_and_rows(), stored_in_fp8()})
    all.insert(all.end(), some.begin(), some.end());
  for (Scenario& s : all) {
    s.problem.h_q = s.h_q;
    s.problem.s_kv = {s.s_kv};
    s.problem.s_q = {s.s_q};
    s.problem.sm_scale = s.sm_scale;
    s.problem.q_type = s.q_type;
    s.problem.kv_type = s.kv_type;
    s.problem.q_scale = s.q_scale;
    s.problem.kv_scale = s.kv_scale;
  }
  return all;
}

Inputs inputs_of(const Scenario& s) {
  auto inputs = small_inputs(s.problem, s.family, 31);
  ATTEST_CHECK(inputs.ok());
  edit(s, *inputs);
  return std::move(*inputs);
}

}  // namespace attest

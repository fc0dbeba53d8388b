#include "harness/core/contract.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest {
namespace {

std::vector<TokenRange> dealt_splits(int tile, int s_kv, int num_splits) {
  std::vector<TokenRange> ranges;
  const int round = tile * num_splits;  // tokens of a tile for each split
  int begin = 0;
  for (int split = 0; split < num_splits && split * tile < s_kv; ++split) {
    const int last = std::clamp(s_kv % round - split * tile, 0, tile);
    const int end = begin + s_kv / round * tile + last;
    ranges.push_back({begin, end});
    begin = end;
  }
  return ranges;
}

}  // namespace

std::vector<TokenRange> live_splits(const SplitRule& rule, int s_kv, int num_splits) {
  std::vector<TokenRange> ranges;
  if (s_kv == 0) return ranges;
  if (rule.dealt_tile > 0) return dealt_splits(rule.dealt_tile, s_kv, num_splits);
  const int length = std::max(rule.min_tokens, s_kv / num_splits);
  const int live = std::min((s_kv + length - 1) / length, num_splits);
  for (int split = 0; split < live; ++split) {
    ranges.push_back({split * length, split + 1 == live ? s_kv : (split + 1) * length});
  }
  return ranges;
}

namespace {

std::string_view to_string(MatrixUnit unit) {
  switch (unit) {
    case MatrixUnit::kSequentialFma:
      return "sequential_fma";
    case MatrixUnit::kCdna1Bf16:
      return "cdna1_bf16";
    case MatrixUnit::kCdna2Bf16:
      return "cdna2_bf16";
    case MatrixUnit::kCdna3Bf16:
      return "cdna3_bf16";
    case MatrixUnit::kCdna3Fp8:
      return "cdna3_fp8";
    case MatrixUnit::kHopperBf16:
      return "hopper_bf16";
    case MatrixUnit::kUnknown:
      return "unknown";
  }
  return "?";
}

std::string_view to_string(Merge merge) {
  switch (merge) {
    case Merge::kSequential:
      return "sequential";
    case Merge::kMaxFirst:
      return "max_first";
    case Merge::kDivisionFree:
      return "division_free";
  }
  return "?";
}

std::string_view to_string(EmptyRow row) {
  switch (row) {
    case EmptyRow::kZerosAndMinusInf:
      return "zeros_and_minus_inf";
    case EmptyRow::kUnwritten:
      return "unwritten";
  }
  return "?";
}

// The lists of names below are complete, or they do not compile: one for each member, in order.
std::string to_text(const Arithmetic& arithmetic) {
  const auto& [matrix_unit, exp_ulp, log_ulp, divide_u, p_bits, p_min_exponent, p_largest, p_scale,
               p_truncates, l_from_rounded_p, scaled_q, k_relative, bf16_partials, o_truncates,
               merge, lse_in_log2, tile_tokens, waves_per_split, lazy_rescale, lazy_heads,
               schedule_declared] = arithmetic;
  return fmt::format(
      "matrix_unit={} exp_ulp={} log_ulp={} divide_u={} p_bits={} p_min_exponent={} p_largest={} "
      "p_scale={} p_truncates={} l_from_rounded_p={} scaled_q={} k_relative={} bf16_partials={} "
      "o_truncates={} merge={} lse_in_log2={} tile_tokens={} waves_per_split={} lazy_rescale={} "
      "lazy_heads={} schedule_declared={}",
      to_string(matrix_unit), exp_ulp, log_ulp, divide_u, p_bits, p_min_exponent, p_largest,
      p_scale, p_truncates, l_from_rounded_p, scaled_q, k_relative, bf16_partials, o_truncates,
      to_string(merge), lse_in_log2, tile_tokens, waves_per_split, lazy_rescale, lazy_heads,
      schedule_declared);
}

}  // namespace

std::string to_text(const Contract& contract) {
  const auto& [arithmetic, split_rule, empty_row, run_to_run_bitwise, layout_invariant,
               batch_invariant] = contract;
  const auto& [min_tokens, dealt_tile] = split_rule;
  return fmt::format(
      "{} split_min_tokens={} split_dealt_tile={} empty_row={} run_to_run_bitwise={} "
      "layout_invariant={} batch_invariant={}",
      to_text(arithmetic), min_tokens, dealt_tile, to_string(empty_row), run_to_run_bitwise,
      layout_invariant, batch_invariant);
}

}  // namespace attest

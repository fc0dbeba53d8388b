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
      return "fma";
    case MatrixUnit::kCdna1Bf16:
      return "cdna1";
    case MatrixUnit::kCdna2Bf16:
      return "cdna2";
    case MatrixUnit::kCdna3Bf16:
      return "cdna3";
    case MatrixUnit::kCdna3Fp8:
      return "cdna3_fp8";
    case MatrixUnit::kHopperBf16:
      return "hopper";
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

std::string to_text(const Arithmetic& a) {
  return fmt::format(
      "matrix_unit={} exp_ulp={} log_ulp={} divide_u={} p_bits={} p_min_exponent={} p_largest={} "
      "p_scale={} p_truncates={:d} l_from_rounded_p={:d} scaled_q={:d} k_relative={} "
      "bf16_partials={:d} o_truncates={:d} merge={} lse_in_log2={:d} tile_tokens={} "
      "waves_per_split={} lazy_rescale={} lazy_heads={} schedule_declared={:d}",
      to_string(a.matrix_unit), a.exp_ulp, a.log_ulp, a.divide_u, a.p_bits, a.p_min_exponent,
      a.p_largest, a.p_scale, a.p_truncates, a.l_from_rounded_p, a.scaled_q, a.k_relative,
      a.bf16_partials, a.o_truncates, to_string(a.merge), a.lse_in_log2, a.tile_tokens,
      a.waves_per_split, a.lazy_rescale, a.lazy_heads, a.schedule_declared);
}

}  // namespace

std::string to_text(const Contract& c) {
  return fmt::format(
      "{} min_tokens={} dealt_tile={} empty_row={} run_to_run_bitwise={:d} layout_invariant={:d} "
      "batch_invariant={:d}",
      to_text(c.arithmetic), c.split_rule.min_tokens, c.split_rule.dealt_tile,
      c.empty_row == EmptyRow::kUnwritten ? "unwritten" : "zeros", c.run_to_run_bitwise,
      c.layout_invariant, c.batch_invariant);
}

}  // namespace attest

// Contract: what a kernel promises about its numbers, as data. Bound and judge read it; nothing is a special case.
// Symbols are those of reference/error_bound.hpp.
#pragma once
#include <cstdint>
#include <vector>

namespace attest {

// Accumulation of a matrix unit: |error| <= steps(k) * u * sum|products| for a dot product of length k.
enum class MatrixUnit { kSequentialFma, kCdna2Bf16, kCdna3Bf16, kHopperBf16 };

struct Arithmetic {
  MatrixUnit matrix_unit = MatrixUnit::kSequentialFma;  // the device's: verify() fills it in
  double exp_ulp = 1;            // relative error of exp2, in units of 2^-23
  double log_ulp = 1;            // relative error of log, in units of 2^-23
  double divide_u = 3;           // final 1/l and multiply, in units of 2^-24
  int p_bits = 8;                // significand bits of P before P.V; 24: P stays fp32
  int p_min_exponent = -126;     // smallest normal exponent of P's format
  bool p_truncates = false;      // RTZ instead of RNE
  bool l_from_rounded_p = false; // the denominator sums rounded P
  bool bf16_partials = false;    // split outputs are stored as bf16
  int tile_tokens = 64;          // tokens between two updates of a running max
  // At most so many running maxima, which take the tiles of a split in turn and are merged at its end. The bound holds
  // for one as well as for all of them.
  int waves_per_split = 1;
};

enum class EmptyRow { kZerosAndMinusInf, kUnwritten };

// How a sequence is cut: each split takes max(min_tokens, s_kv / num_splits) tokens, the last one the rest.
// A split that would start at or after s_kv is empty: unwritten, and not read by the merge.
struct SplitRule {
  int min_tokens = 64;
};

struct TokenRange {
  int begin = 0, end = 0;
  bool operator==(const TokenRange&) const = default;
};

// The live splits of a sequence in order; they cover [0, s_kv) exactly once. Empty when s_kv == 0.
std::vector<TokenRange> live_splits(const SplitRule& rule, int s_kv, int num_splits);

struct Contract {
  Arithmetic arithmetic;
  SplitRule split_rule;
  EmptyRow empty_row = EmptyRow::kZerosAndMinusInf;  // o and lse of a row that sees no token
  bool run_to_run_bitwise = true;
};

}  // namespace attest

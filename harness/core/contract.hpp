// Contract: what a kernel promises about its numbers, as data. Bound and judge read it; nothing is a special case.
// Symbols are those of reference/error_bound.hpp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attest {

// Accumulation of a matrix unit: |error| <= steps(k) * u * sum|products| for a dot product of length k.
enum class MatrixUnit {
  kSequentialFma,
  kCdna1Bf16,  // gfx908
  kCdna2Bf16,  // gfx90a, the _1k instructions
  kCdna3Bf16,  // gfx942, bf16 and fp16
  kCdna3Fp8,   // gfx942, fp8
  kHopperBf16,
  kUnknown,    // no published model (gfx950): a conservative depth
};

// How the merge of splits weighs them.
enum class Merge {
  kSequential,    // running largest lse, one split after another
  kMaxFirst,      // exp(lse_s - largest), then one division by their sum
  kDivisionFree,  // exp(lse_s - lse of the whole), no division
};

// Where a kernel rounds. Every flag is part of every tier of the bound (reference/error_bound.md).
struct Arithmetic {
  MatrixUnit matrix_unit = MatrixUnit::kSequentialFma;  // the device's: verify() fills it in
  double exp_ulp = 1;             // relative error of exp2, in units of 2^-23
  double log_ulp = 1;             // relative error of log, in units of 2^-23
  double divide_u = 3;            // final 1/l and multiply, in units of 2^-24
  int p_bits = 8;                 // significand bits of P before P.V; 24: P stays fp32
  int p_min_exponent = -126;      // smallest normal exponent of P's format
  double p_largest = 0x1.fep127;  // P saturates there
  double p_scale = 1;             // P is multiplied by it before it is rounded, o divided by it at the end
  bool p_truncates = false;       // RTZ instead of RNE
  bool l_from_rounded_p = false;  // the denominator sums rounded P
  bool scaled_q = false;          // bf16(q * fp32(sm_scale * log2 e)) enters Q.K ("pre-scaled q"), not q
  double k_relative = 0;          // of a K dequantised with a scale that is no power of two: 2^-8
  bool bf16_partials = false;     // split outputs are stored as bf16
  bool o_truncates = false;       // o is stored by truncation, not RNE
  Merge merge = Merge::kMaxFirst;
  bool lse_in_log2 = true;        // lse is formed in log2 units and multiplied by ln 2
  int tile_tokens = 64;           // tokens between two updates of a running max
  // At most so many running maxima, which take the tiles of a split in turn and are merged at its end. T0 and T1 hold
  // for one as well as for all of them.
  int waves_per_split = 1;
  // The running max is replaced only by a tile's that exceeds it by more than this, in log2 units; 0: by any larger.
  double lazy_rescale = 0;
  int lazy_heads = 1;  // consecutive heads of a query token that decide it together: one that must rescale makes all
  // tile_tokens, waves_per_split and lazy_* are exactly what the kernel does, not limits: the tiers that repeat the
  // rounding of P may be formed.
  bool schedule_declared = false;
};

enum class EmptyRow { kZerosAndMinusInf, kUnwritten };

// How a sequence is cut: each split takes max(min_tokens, s_kv / num_splits) tokens, the last one the rest.
// A split that would start at or after s_kv is empty: unwritten, and not read by the merge.
struct SplitRule {
  int min_tokens = 64;
  // Not 0: tiles of so many tokens go round the splits instead, tile t to split t % num_splits, of the tokens that the
  // query token sees. Token ranges then count a row's tokens split by split (harness/split_order.hpp).
  int dealt_tile = 0;
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
  // What shows in no bit of o, lse and partials.
  bool run_to_run_bitwise = true;  // another run, and the order in which workgroups and waves run
  bool layout_invariant = false;   // where the tokens of a problem lie: pages, their size, order of the grid
  // Of a row: which other sequences, query tokens and heads the launch has, and how many. It depends on its own q,
  // tokens and split plan alone.
  bool batch_invariant = false;
};

// Every field as "name=value", joined by spaces, in the order above: two contracts are equal when
// their texts are.
std::string to_text(const Contract& contract);

}  // namespace attest

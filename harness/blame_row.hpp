// One row evaluated directly in fp64, under several suppositions at once about how its splits were
// made: scores once, V once.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "harness/blame_merge.hpp"
#include "harness/core/inputs.hpp"
#include "harness/subject.hpp"

namespace attest {

// A supposed stage 1. The default: as declared, but with P as it is where the schedule that says
// what P is relative to is not declared.
struct Supposed {
  double score_times = 1;     // of sm_scale
  bool without_rope = false;  // q.k over the 512 latent dimensions
  bool next_heads_q = false;  // of the same query token; the first after the last
  int p_bits = 24;            // 24: P is not rounded
  int p_min_exponent = -126;
  double p_largest = 0x1.fep127;
  bool p_truncates = false;
  bool l_from_rounded_p = false;
  bool rescales_o = true, rescales_l = true;  // when the running max moves
  bool has_max = true;                        // false: P is e^x
  double v_times = 1;                         // of V
  bool v_of_next = false;                     // V is the next token's; the last one's its own
  bool sees_one_more = false;                 // beyond the causal diagonal
  int splits_end_later = 0;                   // tokens; negative: earlier
  TokenRange skips = {-1, -1};                // these tokens are not there
  int counts_twice = -1;                      // this token
};
Supposed as_declared(const Arithmetic& arithmetic);

struct RowShape {
  int visible = 0, s_kv = 0;
  std::vector<TokenRange> splits;  // live
};
RowShape shape_of(const Subject& subject, const Inputs& inputs, std::int64_t row);

// [supposed][live split]; lse is -inf where a split shows the row nothing.
using EvaluatedRow = std::vector<std::vector<PartialResult>>;
EvaluatedRow evaluate_row(const Subject& subject, const Inputs& inputs, std::int64_t row,
                          std::span<const Supposed> supposed);

}  // namespace attest

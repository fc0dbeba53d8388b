// What is summed over tokens: the names that host and device share.
#pragma once

namespace attest {

inline constexpr int kBlockRows = 16;
inline constexpr int kChunkTokens = 1024;  // at most; fp32 sums within it stay good to 2^-13
inline constexpr int kValueTile = 64;      // tokens whose weights and V are unpacked at once

// Sums over a chunk or a split, of each row of a block. Weights w = e^(x - M) are relative to the
// split's largest score M; `top` is the token that has it, kept apart from what multiplies v - o:
// where one token holds most of the weight, |v| + |o| would be far above |v - o|.
enum RowSum {
  kL,            // sum w
  kTheta,        // sum w theta: relative error of w
  kRounding,     // sum w rho (1 + theta): of the rounding of P, in the worst case
  kTopTheta,     // T0: what multiplies v_top - o
  kShift,        // sum w pi: what the declared rounding does, signed
  kFlip,         // sum w (1 + theta) * relative size of the roundings that may go the other way
  kTopRigorous,  // T2: what multiplies v_top - o
  kCentred,      // T2: sum w of what multiplies the other v - o
  kLinear,       // sum w of the coherent errors of w (kappa)
  kSquareOfO,    // variance of sum w theta, without the top token: multiplies o^2
  kSquareOfTop,  // variance of the top token's w: multiplies (v_top - o)^2
  kSquareOfP,    // variance of sum w pi, of the roundings that are not known
  kSquaredW,     // sum w^2
  kFlushed,      // sum of the w whose P is rounded to 0
  kScaled,       // sum w (x - M)
  kNorm,         // sum w |v|_1
  kOfMax,        // sum w of what the max in force may be off: a rounded P leaves it
  kRepeated,     // sum w N: N tokens may have one and the same error
  kSmall,        // kSmallSums counts of tokens: w < 2^-5, 2^-8, ...
  kRowSums = kSmall + 6
};
inline constexpr int kSmallSums = kRowSums - kSmall;
inline constexpr double kLargestSmall = 0x1p-5, kSmallStep = 0x1p-3;
// Of the RowSums that are no sums, what no token has changed yet.
inline constexpr double kNoLinear = 1e300, kNoExponent = 0;

inline constexpr int kScoreLanes = 8;  // columns of a score test that are summed apart

// Sums over tokens of a weight times |v|, v or v^2, of each row and column.
enum AbsSum { kAbsT0, kAbsRigorous, kAbsLinear, kAbsSums };   // the errors of T0; T2; T1 or T2p
enum SignedSum { kSignedShift, kSignedScaled, kSignedSums };  // w pi; w (x - M)

// All sums over columns, of a chunk and of a split. Those with bounds alone follow the first; those
// of the tiers follow T0's.
enum ColumnSum {
  kColumnO,         // sum w v
  kColumnT0,        // fp32 within a chunk, as the next four
  kColumnRigorous,  // the order of AbsSum
  kColumnLinear,
  kColumnShift,  // the order of SignedSum
  kColumnScaled,
  kColumnSquare,
  kColumnSums
};

}  // namespace attest

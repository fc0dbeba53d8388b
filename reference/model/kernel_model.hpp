// A decode kernel in plain C++, with the arithmetic that a Contract declares and, where wanted, one
// planted defect: what proves the bounds (no correct model breaks a tier) and the judge (every
// defect is seen). It shares no code with reference(). Per row and split: dot products by a
// bit-level model of the matrix unit (matrix_unit.hpp), online softmax over the declared tiles and
// waves in fp32, P rounded as declared, partial results stored as declared, splits merged as
// declared.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/trouble.hpp"

namespace attest::model {

// What a wrong kernel does. Each is one mistake in an otherwise right kernel.
enum class Defect {
  kNone,
  // which tokens
  kDropFirstToken,
  kDropLastToken,
  kDropLastTile,
  kDropSplit,
  kCountFirstTokenTwice,
  kWrongPage,
  kStaleToken,
  kVOfNextToken,
  kMaskOffByOne,
  // scores
  kScaleOneThousandthOff,
  kScaleOnePercentOff,
  kScaleOfLatentDims,
  kSkipRope,
  kNextHeadsQInOneSplit,
  kTokenScaledTwice,
  kIgnoresScores,
  // online softmax
  kSkipRescaleOfO,
  kSkipRescaleOfOInLastTile,
  kSkipRescaleOfL,
  kRescalesOTwice,
  kRescaleFivePercentOff,
  kNoMaxSubtraction,
  kMaxStartsAtZero,
  // roundings that were not declared
  kTruncatesP,
  kRoundsPToFp8,
  kTruncatesO,
  kAccumulatesOInBf16,
  kStoresPartialsInBf16,
  kStoresLseInBf16,
  // merge and output
  kLseInBaseTwo,
  kOneSplitsLseInBaseTwo,
  kOneSplitsLseOff,
  kAveragesSplits,
  kMergesByNextHeadsLse,
  kSwapsTwoDims,
  kHeadsSwapped,
  kNanOfEmptySplit,
  kZeros,
};
inline constexpr Defect kLastDefect = Defect::kZeros;

struct ModelResult;

// How exp2, log2 and 1/x use what their declaration allows them.
enum class Transcendental {
  kNearest,  // rounded from fp64
  kHigh,     // as far from zero as allowed, always
  kLow,      // as near to zero as allowed, always
  kRandom,   // anywhere within; the same argument gives the same result
};

struct ModelOptions {
  int num_splits = 1;
  int threads = 1;
  Defect defect = Defect::kNone;
  // The result of the same launch without a defect: what the defect does not touch is copied from
  // it.
  const ModelResult* right = nullptr;
  Transcendental transcendental = Transcendental::kNearest;
  bool ieee_division = false;  // o / l rounded once, where divide_u would allow o * (1 / l)
  std::uint64_t seed = 0;      // of kRandom, and of the errors of a dequantised K
};

// The outputs of the whole problem, in the layout of harness/core/output.hpp; o_fp32, when asked
// for, before its last rounding.
struct ModelResult {
  Output output;
  std::vector<float> o_fp32;  // [total_q, h_q, 512]
};
Result<ModelResult> run_model(const Problem& problem, const Inputs& inputs,
                              const Contract& contract, const ModelOptions& options);

std::string_view name_of(Defect defect);  // "drops the last token"
// The stage that it breaks, in the words of the judge's blame: "stage1", "stage2"; empty for kNone.
std::string_view stage_of(Defect defect);
// Whether the problem has what the defect needs (several splits, heads, tiles, ...).
bool applies(Defect defect, const Problem& problem, const Contract& contract, int num_splits);

}  // namespace attest::model

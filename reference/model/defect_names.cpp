// Name, stage and needs of each planted defect.
#include <algorithm>
#include <array>

#include "harness/core/check.hpp"
#include "reference/model/kernel_model.hpp"

namespace attest::model {
namespace {

struct Entry {
  Defect defect;
  std::string_view name, stage;
};

constexpr std::array kEntries = {
    Entry{Defect::kNone, "none", ""},
    Entry{Defect::kDropFirstToken, "drops the first token", "stage1"},
    Entry{Defect::kDropLastToken, "drops the last token", "stage1"},
    Entry{Defect::kDropLastTile, "drops the last tile", "stage1"},
    Entry{Defect::kDropSplit, "drops one split", "stage2"},
    Entry{Defect::kCountFirstTokenTwice, "counts the first token twice", "stage1"},
    Entry{Defect::kWrongPage, "reads one wrong page", "stage1"},
    Entry{Defect::kStaleToken, "reads an older token for the last", "stage1"},
    Entry{Defect::kVOfNextToken, "takes V of the next token", "stage1"},
    Entry{Defect::kMaskOffByOne, "ends each split a token late", "stage1"},
    Entry{Defect::kScaleOneThousandthOff, "scale 0.1 % off", "stage1"},
    Entry{Defect::kScaleOnePercentOff, "scale 1 % off", "stage1"},
    Entry{Defect::kScaleOfLatentDims, "scale 1/sqrt(512)", "stage1"},
    Entry{Defect::kSkipRope, "skips the RoPE dims", "stage1"},
    Entry{Defect::kNextHeadsQInOneSplit, "q of the next head in one split", "stage1"},
    Entry{Defect::kTokenScaledTwice, "scales a block of one token twice", "stage1"},
    Entry{Defect::kIgnoresScores, "ignores q.k", "stage1"},
    Entry{Defect::kSkipRescaleOfO, "never rescales O", "stage1"},
    Entry{Defect::kSkipRescaleOfOInLastTile, "skips O's rescale in a split's last tile", "stage1"},
    Entry{Defect::kSkipRescaleOfL, "never rescales l", "stage1"},
    Entry{Defect::kRescalesOTwice, "rescales O twice", "stage1"},
    Entry{Defect::kRescaleFivePercentOff, "one rescale 5 % off", "stage1"},
    Entry{Defect::kNoMaxSubtraction, "does not subtract the max", "stage1"},
    Entry{Defect::kMaxStartsAtZero, "running max starts at 0", "stage1"},
    Entry{Defect::kTruncatesP, "truncates P", "stage1"},
    Entry{Defect::kRoundsPToFp8, "rounds P to fp8", "stage1"},
    Entry{Defect::kTruncatesO, "truncates o", "stage2"},
    Entry{Defect::kAccumulatesOInBf16, "accumulates O in bf16", "stage1"},
    Entry{Defect::kStoresPartialsInBf16, "stores partial o in bf16", "stage1"},
    Entry{Defect::kStoresLseInBf16, "stores lse in bf16", "stage2"},
    Entry{Defect::kLseInBaseTwo, "lse in base 2", "stage2"},
    Entry{Defect::kOneSplitsLseInBaseTwo, "lse of one split in base 2", "stage1"},
    Entry{Defect::kOneSplitsLseOff, "lse of one split off by 0.01", "stage1"},
    Entry{Defect::kAveragesSplits, "averages the splits", "stage2"},
    Entry{Defect::kMergesByNextHeadsLse, "weighs splits by the next head's lse", "stage2"},
    Entry{Defect::kSwapsTwoDims, "swaps two dims", "stage2"},
    Entry{Defect::kHeadsSwapped, "swaps two heads", "stage2"},
    Entry{Defect::kNanOfEmptySplit, "reads an empty split", "stage2"},
    Entry{Defect::kZeros, "writes zeros", "stage2"},
};
static_assert(kEntries.size() == static_cast<std::size_t>(kLastDefect) + 1);

const Entry& entry_of(Defect defect) {
  const Entry& entry = kEntries[static_cast<std::size_t>(defect)];
  ATTEST_CHECK(entry.defect == defect);
  return entry;
}

int most_live_splits(const Problem& problem, const Contract& contract, int num_splits) {
  int most = 0;
  for (const int s_kv : problem.s_kv) {
    most =
        std::max(most, static_cast<int>(live_splits(contract.split_rule, s_kv, num_splits).size()));
  }
  return most;
}

bool has_empty_split(const Problem& problem, const Contract& contract, int num_splits) {
  return std::any_of(problem.s_kv.begin(), problem.s_kv.end(), [&](int s_kv) {
    const auto live = live_splits(contract.split_rule, s_kv, num_splits).size();
    return live > 0 && static_cast<int>(live) < num_splits;
  });
}

}  // namespace

std::string_view name_of(Defect defect) { return entry_of(defect).name; }
std::string_view stage_of(Defect defect) { return entry_of(defect).stage; }

bool applies(Defect defect, const Problem& problem, const Contract& contract, int num_splits) {
  const Arithmetic& a = contract.arithmetic;
  const int longest = *std::max_element(problem.s_kv.begin(), problem.s_kv.end());
  if (longest == 0) return false;
  const int live = most_live_splits(problem, contract, num_splits);
  switch (defect) {
    case Defect::kDropSplit:
    case Defect::kAveragesSplits:
      return live > 1;
    case Defect::kMergesByNextHeadsLse:
      return problem.h_q > 1 && num_splits > 1;
    case Defect::kMaskOffByOne:
      return live > 1 || problem.max_s_q() > 1;
    case Defect::kOneSplitsLseInBaseTwo:
    case Defect::kOneSplitsLseOff:
      return num_splits > 1;
    case Defect::kStoresPartialsInBf16:
      return num_splits > 1 && !a.bf16_partials;
    case Defect::kNanOfEmptySplit:
      return has_empty_split(problem, contract, num_splits);
    case Defect::kWrongPage:
      return longest > problem.page_size;
    case Defect::kStaleToken:
    case Defect::kVOfNextToken:
    case Defect::kDropFirstToken:
    case Defect::kDropLastToken:
      return longest > 1;
    case Defect::kDropLastTile:
      return longest > a.tile_tokens;
    case Defect::kNextHeadsQInOneSplit:
    case Defect::kHeadsSwapped:
      return problem.h_q > 1;
    case Defect::kTruncatesP:
      return a.p_bits < 24 && !a.p_truncates;
    case Defect::kRoundsPToFp8:
      return a.p_bits > 4;
    case Defect::kTruncatesO:
      return !a.o_truncates;
    default:
      return true;
  }
}

}  // namespace attest::model

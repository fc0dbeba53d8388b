// Spreads and fault maps decide nothing, but reports draw them: they must be where things are.
#include <gtest/gtest.h>

#include <numeric>

#include "harness/fault_places.hpp"
#include "harness/judge_trial.hpp"

namespace attest {
namespace {

const Spread& spread_of(const Verdict& verdict, std::string_view tensor) {
  for (const Spread& spread : verdict.spreads) {
    if (spread.tensor == tensor) return spread;
  }
  ADD_FAILURE() << "no spread of " << tensor;
  static const Spread kNone;
  return kNone;
}

TEST(Spreads, CountEachSampledElementOnce) {
  const Verdict verdict = Trial(3).judged();
  ASSERT_EQ(verdict.spreads.size(), 4u);
  for (const Spread& s : verdict.spreads) {
    EXPECT_GT(s.sampled, 0) << s.tensor;
    EXPECT_EQ(std::accumulate(s.by_ratio.begin(), s.by_ratio.end(), std::int64_t{0}), s.sampled);
    EXPECT_EQ(std::accumulate(s.by_ulp.begin(), s.by_ulp.end(), std::int64_t{0}), s.sampled);
    EXPECT_FLOAT_EQ(s.bound_median, 1e-3) << s.tensor;
    EXPECT_LE(s.ratio_median, s.ratio_p99);
  }
  EXPECT_EQ(spread_of(verdict, "o").by_ulp[0], spread_of(verdict, "o").sampled);
}

TEST(Spreads, PutAnElementIntoTheBinOfItsRatioAndOfItsUlps) {
  Trial trial(1);
  for (std::int64_t row = 0; row < trial.expected.rows; ++row) {
    if (trial.expected.lse[row] == -kInfinity) continue;
    trial.expected.lse[row] = 1;  // ulp of fp32 there: 2^-23
    trial.bound.lse[row] = 0x1p-20f;
    trial.output.lse[row] = fp32(1 + 0x1p-21);  // half the bound, 4 ulp
  }
  const Spread& lse = spread_of(trial.judged(), "lse");
  EXPECT_EQ(lse.by_ratio[11], lse.sampled);  // (1/4, 1/2]
  EXPECT_EQ(lse.by_ulp[3], lse.sampled);     // (2, 4]
  EXPECT_EQ(lse.ratio_median, 0.5);
}

TEST(Spreads, PutWhatIsBeyondItsBoundBehindTheBinOfOne) {
  Trial trial(1);
  std::fill(trial.output.lse.begin(), trial.output.lse.end(), fp32(1e30));
  const Spread& lse = spread_of(trial.judged(), "lse");
  EXPECT_EQ(lse.by_ratio[Spread::kBins - 1], lse.sampled);
  EXPECT_EQ(lse.by_ulp[Spread::kBins - 1], lse.sampled);
}

TEST(FaultMaps, ShowTheBlockThatIsWrongOfEachTensor) {
  Trial trial;
  trial.output.o[5 * kDV + 130] = bf16(100);                   // row 5, columns 128..191
  trial.output.partial_lse[trial.stored(0, 2, 1)] = fp32(50);  // row 1, split 2
  const Verdict verdict = trial.judged();
  ASSERT_EQ(verdict.fault_maps.size(), 2u);
  const FaultMap& partial = verdict.fault_maps[0];
  EXPECT_EQ(partial.tensor, "partial_lse");
  EXPECT_EQ(partial.column_axis, "split");
  EXPECT_EQ(partial.rows, 2);
  EXPECT_EQ(partial.columns, 3);
  EXPECT_EQ(partial.counts, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 1}));
  const FaultMap& o = verdict.fault_maps[1];
  EXPECT_EQ(o.tensor, "o");
  EXPECT_EQ(o.rows, 6);
  EXPECT_EQ(o.columns, 8);
  EXPECT_EQ(o.counts[5 * 8 + 2], 1);
  EXPECT_EQ(std::accumulate(o.counts.begin(), o.counts.end(), std::int64_t{0}), 1);
}

TEST(FaultMaps, HaveAtMost32BlocksAlongAnAxisAndLoseNoFault) {
  FaultPlaces places;
  for (int row = 0; row < 1000; ++row) {
    for (int split = 0; split < 70; ++split) {
      Place place;
      place.row = row, place.split = split;
      places.add(place);
    }
  }
  const FaultMap map = places.map("partial_lse");
  EXPECT_EQ(map.rows, 32);
  EXPECT_EQ(map.row_block, 32);
  EXPECT_EQ(map.columns, 24);
  EXPECT_EQ(map.column_block, 3);
  EXPECT_EQ(std::accumulate(map.counts.begin(), map.counts.end(), std::int64_t{0}), 70000);
}

TEST(FaultMaps, AreNotMadeOfAPass) { EXPECT_TRUE(Trial(3).judged().fault_maps.empty()); }

}  // namespace
}  // namespace attest

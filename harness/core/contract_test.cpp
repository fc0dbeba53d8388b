#include "harness/core/contract.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "harness/core/contract_changes.hpp"

namespace attest {
namespace {

TEST(ContractText, EveryFieldShowsInIt) {
  using Edit = std::function<void(Contract&)>;
  const std::vector<Edit> edits = {
      [](Contract& c) { c.arithmetic.matrix_unit = MatrixUnit::kUnknown; },
      [](Contract& c) { c.arithmetic.exp_ulp = 0x1.0000000000001p0; },
      [](Contract& c) { c.arithmetic.log_ulp = 2; },
      [](Contract& c) { c.arithmetic.divide_u = 2; },
      [](Contract& c) { c.arithmetic.p_bits = 24; },
      [](Contract& c) { c.arithmetic.p_min_exponent = -14; },
      [](Contract& c) { c.arithmetic.p_largest = 240; },
      [](Contract& c) { c.arithmetic.p_scale = 224; },
      [](Contract& c) { c.arithmetic.p_truncates = true; },
      [](Contract& c) { c.arithmetic.l_from_rounded_p = true; },
      [](Contract& c) { c.arithmetic.scaled_q = true; },
      [](Contract& c) { c.arithmetic.k_relative = 0x1p-8; },
      [](Contract& c) { c.arithmetic.bf16_partials = true; },
      [](Contract& c) { c.arithmetic.o_truncates = true; },
      [](Contract& c) { c.arithmetic.merge = Merge::kDivisionFree; },
      [](Contract& c) { c.arithmetic.lse_in_log2 = false; },
      [](Contract& c) { c.arithmetic.tile_tokens = 16; },
      [](Contract& c) { c.arithmetic.waves_per_split = 4; },
      [](Contract& c) { c.arithmetic.lazy_rescale = 8; },
      [](Contract& c) { c.arithmetic.lazy_heads = 16; },
      [](Contract& c) { c.arithmetic.schedule_declared = true; },
      [](Contract& c) { c.split_rule.min_tokens = 16; },
      [](Contract& c) { c.split_rule.dealt_tile = 64; },
      [](Contract& c) { c.empty_row = EmptyRow::kUnwritten; },
      [](Contract& c) { c.run_to_run_bitwise = false; },
      [](Contract& c) { c.layout_invariant = true; },
      [](Contract& c) { c.batch_invariant = true; },
  };
  std::set<std::string> texts = {to_text(Contract{})};
  for (std::size_t i = 0; i < edits.size(); ++i) {
    Contract c;
    edits[i](c);
    EXPECT_TRUE(texts.insert(to_text(c)).second) << "edit " << i << " does not show";
  }
}

TEST(ContractText, ChangesAreNamedWithBothValues) {
  Contract before, after;
  after.arithmetic.p_bits = 24;
  after.arithmetic.merge = Merge::kSequential;
  EXPECT_EQ(contract_changes(to_text(before), to_text(before)), "");
  EXPECT_EQ(contract_changes(to_text(before), to_text(after)),
            "p_bits 8 -> 24, merge max_first -> sequential");
  EXPECT_EQ(contract_changes("a=1 c=3", "b=2 a=1"), "c 3 -> not said, b not said -> 2");
}

}  // namespace
}  // namespace attest

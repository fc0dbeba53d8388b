// Without a reference: the harness compares guard zones, pads and inputs after every run.
#include <algorithm>

#include "fuzz/properties/catalog.hpp"
#include "fuzz/properties/parts/launches.hpp"

namespace attest {
namespace {

class Memory final : public Property {
 public:
  std::string_view name() const override { return "memory"; }
  std::string_view statement() const override {
    return "a launch writes all that it owes and nothing else";
  }
  Promise promise(const Contract&) const override { return Promise::kBitEqual; }
  std::string why_not(const Case&, const Kernel&) const override { return {}; }

  Result<Checked> check(const Case& c, Lab& lab) const override {
    const auto run = launch_as_drawn(lab, c);
    if (!run.ok()) return run.trouble();
    const Contract contract = lab.kernel().contract(c.problem);
    const Outputs outputs(lab.kernel(), *run);
    Comparison comparison;
    for (const RowAt& at : rows_of(c.problem)) {
      final_row(contract, outputs, at, comparison);
      if (outputs.num_splits > 1) partials(contract, outputs, at, comparison);
    }
    return comparison.result("");
  }

 private:
  static void final_row(const Contract& contract, const Outputs& outputs, const RowAt& at,
                        Comparison& comparison) {
    const bool owed =
        visible_at(outputs.problem, at) > 0 || contract.empty_row == EmptyRow::kZerosAndMinusInf;
    const auto take = owed ? &Comparison::written : &Comparison::unwritten;
    (comparison.*take)({Part::kLse, Format::kFp32, at}, outputs.lse(at.row));
    for (int d = 0; d < kDV; ++d) {
      (comparison.*take)({Part::kO, Format::kBf16, at, -1, d}, outputs.o(at.row, d));
    }
  }

  // Splits behind the last live one are left alone; the o of a live one that shows the row nothing
  // is free.
  static void partials(const Contract& contract, const Outputs& outputs, const RowAt& at,
                       Comparison& comparison) {
    const auto live =
        live_splits(contract.split_rule, outputs.problem.s_kv[at.sequence], outputs.num_splits);
    const int visible = visible_at(outputs.problem, at);
    for (int split = 0; split < outputs.num_splits; ++split) {
      const bool is_live = split < std::ssize(live);
      const auto take = is_live ? &Comparison::written : &Comparison::unwritten;
      (comparison.*take)({Part::kPartialLse, Format::kFp32, at, split},
                         outputs.partial_lse(at.row, split));
      if (is_live && live[split].begin >= visible) continue;
      for (int d = 0; d < kDV; ++d) {
        (comparison.*take)({Part::kPartialO, outputs.of_partial_o, at, split, d},
                           outputs.partial_o(at.row, split, d));
      }
    }
  }
};

}  // namespace

const Property& memory_property() {
  static const Memory kInstance;
  return kInstance;
}

}  // namespace attest

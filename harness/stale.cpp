#include "harness/stale.hpp"

#include <algorithm>

#include "harness/core/poison.hpp"
#include "harness/judge_gates.hpp"

namespace attest {
namespace {

// Counts of wrong elements, and of those that are what they were.
struct Count {
  std::int64_t wrong = 0, stale = 0;

  template <class Bits>
  void element(const TensorGates& gates, std::int64_t i, const std::vector<Bits>& now,
               const std::vector<Bits>& before) {
    if (gates.judge(i, now[i]).fault != Fault::kWrong) return;
    ++wrong;
    if (i < static_cast<std::int64_t>(before.size()) && before[i] == now[i]) ++stale;
  }
};

template <class Bits>
void poison_if_same(std::int64_t begin, std::int64_t count, const std::vector<Bits>& before,
                    std::vector<Bits>& now, Bits poison) {
  for (std::int64_t i = begin; i < begin + count; ++i) {
    if (now[i] == before[i]) now[i] = poison;
  }
}

}  // namespace

bool is_stale(const Subject& s, const Output& output, const Output& previous,
              const Reference& wanted) {
  const CaseGates gates(s, wanted);
  Count count;
  each_row_while(s, [&](const Place& place, const std::vector<TokenRange>&) {
    if (owed_in_row(s, place) != Owed::kValue) return true;
    count.element(gates.lse, place.row, output.lse, previous.lse);
    for (int d = 0; d < kDV; ++d) {
      count.element(gates.o, place.row * kDV + d, output.o, previous.o);
    }
    return true;
  });
  return count.wrong > 0 && count.stale == count.wrong;
}

void poison_unwritten(const Subject& s, const Output& before, Output& output) {
  const std::uint32_t partial_poison = s.contract.arithmetic.bf16_partials ? kPoison16 : kPoison32;
  each_row_while(s, [&](const Place& at, const std::vector<TokenRange>& live) {
    if (owed_in_row(s, at) == Owed::kUnwritten) {
      poison_if_same(at.row, 1, before.lse, output.lse, kPoison32);
      poison_if_same(at.row * kDV, kDV, before.o, output.o, kPoison16);
    }
    for (int split = 0; s.num_splits > 1 && split < s.num_splits; ++split) {
      Place place = at;
      place.split = split;
      if (owed_in_split(s, place, live) != Owed::kUnwritten) continue;
      const std::int64_t row = stored_partial(s, at.row, split);
      poison_if_same(row, 1, before.partial_lse, output.partial_lse, kPoison32);
      poison_if_same(row * kDV, kDV, before.partial_o, output.partial_o, partial_poison);
    }
    return true;
  });
}

}  // namespace attest

#include "harness/strawmen.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "harness/core/check.hpp"
#include "harness/judge_gates.hpp"
#include "harness/token_loss.hpp"

namespace attest {
namespace {

struct Scene {
  const Subject& subject;
  const Inputs& inputs;
  const Output& output;
  const Reference& reference;
  const CaseGates& gates;
};

// One row of an output: its final results, and the partial of the one split that a mistake changes.
struct RowOutput {
  std::array<std::uint16_t, kDV> o;
  std::uint32_t lse = 0;
  int split = -1;  // none
  std::array<std::uint32_t, kDV> partial_o;
  std::uint32_t partial_lse = 0;
};

// The value of stored bits, moved and stored again.
std::uint32_t moved(Stored stored, std::uint32_t bits, double by) {
  return stored_bits(stored, value_of(stored, bits) + by);
}

using Live = std::vector<TokenRange>;
// Changes the row's output as the mistake would; false: the mistake leaves the row as it is.
using Change = bool (*)(const Scene&, const Place&, const Live&, RowOutput&);

bool sees_tokens(const Scene& s, const Place& place) { return visible_at(s.subject, place) > 0; }

bool zeros(const Scene&, const Place&, const Live&, RowOutput& row) {
  row.o.fill(0);
  return true;
}

bool poison_left(const Scene&, const Place&, const Live&, RowOutput& row) {
  row.o.fill(kPoison16);
  row.lse = kPoison32;
  return true;
}

bool another_heads_row(const Scene& s, const Place& place, const Live&, RowOutput& row) {
  const int h_q = s.subject.problem.h_q;
  if (h_q == 1) return false;
  const std::int64_t other = place.row - place.head + (place.head + 1) % h_q;
  std::copy_n(s.output.o.begin() + other * kDV, kDV, row.o.begin());
  row.lse = s.output.lse[other];
  return true;
}

// The last split that the row sees is missing in the merge.
bool split_dropped(const Scene& s, const Place& place, const Live& live, RowOutput& row) {
  const int visible = visible_at(s.subject, place);
  int last = -1;
  while (last + 1 < static_cast<int>(live.size()) && live[last + 1].begin < visible) ++last;
  if (s.subject.num_splits == 1 || last < 1) return false;
  const Expected& e = s.reference.expected;
  const std::int64_t part = place.row * s.subject.num_splits + last;
  const double weight = std::exp(e.partial_lse[part] - e.lse[place.row]);
  row.lse = moved(Stored::kFp32, row.lse, std::log1p(-weight));
  for (int d = 0; d < kDV; ++d) {
    const double by =
        o_moves(e.o[place.row * kDV + d], weight, weight * e.partial_o[part * kDV + d]);
    row.o[d] = moved(s.gates.o.stored(), row.o[d], by);
  }
  return true;
}

bool scale_off(const Scene& s, const Place& place, const Live&, RowOutput& row) {
  constexpr double kOff = 0.02;  // sm_scale: 1 / sqrt(576) and 1 / sqrt(512) are 6 % apart
  const Reference& r = s.reference;
  if (r.temperature_o.empty() || !sees_tokens(s, place)) return false;
  row.lse = moved(Stored::kFp32, row.lse, kOff * r.temperature_lse[place.row]);
  for (int d = 0; d < kDV; ++d) {
    row.o[d] = moved(s.gates.o.stored(), row.o[d], kOff * r.temperature_o[place.row * kDV + d]);
  }
  return true;
}

// The row's last token is missing in its split, and so in the result.
bool last_token_dropped(const Scene& s, const Place& place, const Live& live, RowOutput& row) {
  const int visible = visible_at(s.subject, place);
  if (visible < 2) return false;
  const RowWeights weights(s.subject.problem, s.inputs, place.row);
  const auto v = [&](int d) { return weights.view().k(visible - 1, d); };
  const Expected& e = s.reference.expected;
  const double logit = weights.logit(visible - 1), weight = std::exp(logit - e.lse[place.row]);
  row.lse = moved(Stored::kFp32, row.lse, std::log1p(-weight));
  for (int d = 0; d < kDV; ++d) {
    const double by = o_moves(e.o[place.row * kDV + d], weight, weight * v(d));
    row.o[d] = moved(s.gates.o.stored(), row.o[d], by);
  }
  if (s.subject.num_splits == 1) return true;
  int split = 0;
  while (live[split].end < visible) ++split;
  if (visible - live[split].begin < 2) return true;  // the split would be left without a token
  const std::int64_t part = place.row * s.subject.num_splits + split;
  const std::int64_t stored = stored_partial(s.subject, place.row, split);
  const double share = std::exp(logit - e.partial_lse[part]);
  row.split = split;
  row.partial_lse = moved(Stored::kFp32, s.output.partial_lse[stored], std::log1p(-share));
  for (int d = 0; d < kDV; ++d) {
    const double by = o_moves(e.partial_o[part * kDV + d], share, share * v(d));
    row.partial_o[d] = moved(s.gates.partial_o.stored(), s.output.partial_o[stored * kDV + d], by);
  }
  return true;
}

bool lse_in_base_2(const Scene& s, const Place& place, const Live&, RowOutput& row) {
  constexpr double kLog2E = 1.44269504088896340736;
  if (!sees_tokens(s, place)) return false;
  row.lse = stored_bits(Stored::kFp32, value_of(Stored::kFp32, row.lse) * kLog2E);
  return true;
}

constexpr std::array<std::string_view, 7> kNames = {
    "zeros",         "poison left",        "another head's row", "one split dropped",
    "scale 2 % off", "last token dropped", "lse in base 2"};
constexpr std::array<Change, 7> kChanges = {zeros,         poison_left, another_heads_row,
                                            split_dropped, scale_off,   last_token_dropped,
                                            lse_in_base_2};

// Judges what a mistake changed in one tensor's part; true when it is rejected.
template <class Bits, class Was, class Judge>
bool rejects(const Bits& bits, const Was* was, bool& differs, const Judge& judge) {
  for (int d = 0; d < kDV; ++d) {
    if (bits[d] == was[d]) continue;
    differs = true;
    if (judge(d, bits[d]).fault != Fault::kNone) return true;
  }
  return false;
}

bool rejects_final(const Scene& s, const Place& place, const RowOutput& row, bool& differs) {
  const Owed owed = owed_in_row(s.subject, place);
  const bool gated = owed == Owed::kValue;
  if (const std::uint32_t was = s.output.lse[place.row]; row.lse != was) {
    differs = true;
    const Judged judged =
        gated ? s.gates.lse.judge(place.row, row.lse)
              : judge_fixed(Stored::kFp32, owed, -std::numeric_limits<double>::infinity(), row.lse);
    if (judged.fault != Fault::kNone) return true;
  }
  return rejects(row.o, s.output.o.data() + place.row * kDV, differs, [&](int d, std::uint32_t b) {
    return gated ? s.gates.o.judge(place.row * kDV + d, b)
                 : judge_fixed(s.gates.o.stored(), owed, 0, b);
  });
}

bool rejects_partial(const Scene& s, const Place& place, const RowOutput& row, bool& differs) {
  const std::int64_t part = place.row * s.subject.num_splits + row.split;
  const std::int64_t stored = stored_partial(s.subject, place.row, row.split);
  if (row.partial_lse != s.output.partial_lse[stored]) {
    differs = true;
    if (s.gates.partial_lse.judge(part, row.partial_lse).fault != Fault::kNone) return true;
  }
  return rejects(
      row.partial_o, s.output.partial_o.data() + stored * kDV, differs,
      [&](int d, std::uint32_t b) { return s.gates.partial_o.judge(part * kDV + d, b); });
}

// Calls visit(place, changed row) for each row that the mistake changes, until it returns false.
template <class Visit>
void each_change_while(const Scene& s, Change change, const Visit& visit) {
  RowOutput row;
  each_row_while(s.subject, [&](const Place& place, const Live& live) {
    std::copy_n(s.output.o.begin() + place.row * kDV, kDV, row.o.begin());
    row.lse = s.output.lse[place.row];
    row.split = -1;
    return !change(s, place, live, row) || visit(place, row);
  });
}

StrawmanResult judge_strawman(const Scene& s, std::string_view name, Change change) {
  StrawmanResult result{name};
  each_change_while(s, change, [&](const Place& place, const RowOutput& row) {
    result.rejected = rejects_final(s, place, row, result.differs) ||
                      (row.split >= 0 && rejects_partial(s, place, row, result.differs));
    return !result.rejected;
  });
  return result;
}

void write_exact_partials(const Subject& s, const CaseGates& gates, Place place, const Live& live,
                          Output& output) {
  for (place.split = 0; place.split < static_cast<int>(live.size()); ++place.split) {
    const std::int64_t part = place.row * s.num_splits + place.split;
    const std::int64_t stored = stored_partial(s, place.row, place.split);
    output.partial_lse[stored] = stored_bits(Stored::kFp32, gates.partial_lse.centre(part));
    for (int d = 0; d < kDV; ++d) {
      output.partial_o[stored * kDV + d] =
          stored_bits(gates.partial_o.stored(), gates.partial_o.centre(part * kDV + d));
    }
  }
}

}  // namespace

std::span<const std::string_view> strawman_names() { return kNames; }

std::vector<StrawmanResult> judge_strawmen(const Subject& subject, const Inputs& inputs,
                                           const Output& output, const Reference& reference) {
  const CaseGates gates(subject, reference);
  const Scene scene{subject, inputs, output, reference, gates};
  std::vector<StrawmanResult> results;
  for (std::size_t i = 0; i < kNames.size(); ++i)
    results.push_back(judge_strawman(scene, kNames[i], kChanges[i]));
  return results;
}

Output strawman_output(std::string_view name, const Subject& subject, const Inputs& inputs,
                       const Output& output, const Reference& reference) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  ATTEST_CHECK(at != kNames.end());
  const CaseGates gates(subject, reference);
  Output made = output;
  each_change_while({subject, inputs, output, reference, gates}, kChanges[at - kNames.begin()],
                    [&](const Place& place, const RowOutput& row) {
                      std::copy_n(row.o.begin(), kDV, made.o.begin() + place.row * kDV);
                      made.lse[place.row] = row.lse;
                      if (row.split < 0) return true;
                      const std::int64_t stored = stored_partial(subject, place.row, row.split);
                      made.partial_lse[stored] = row.partial_lse;
                      std::copy_n(row.partial_o.begin(), kDV,
                                  made.partial_o.begin() + stored * kDV);
                      return true;
                    });
  return made;
}

Output exact_output(const Subject& s, const Reference& reference) {
  const CaseGates gates(s, reference);
  const std::size_t rows = s.problem.rows(), parts = s.num_splits > 1 ? rows * s.num_splits : 0;
  Output output;
  output.o.assign(rows * kDV, kPoison16);
  output.lse.assign(rows, kPoison32);
  output.partial_o.assign(parts * kDV, s.contract.arithmetic.bf16_partials ? kPoison16 : kPoison32);
  output.partial_lse.assign(parts, kPoison32);
  each_row_while(s, [&](const Place& place, const Live& live) {
    if (owed_in_row(s, place) != Owed::kUnwritten) {
      output.lse[place.row] = stored_bits(Stored::kFp32, gates.lse.centre(place.row));
      for (std::int64_t i = place.row * kDV; i < (place.row + 1) * kDV; ++i) {
        output.o[i] = static_cast<std::uint16_t>(stored_bits(gates.o.stored(), gates.o.centre(i)));
      }
    }
    if (s.num_splits > 1) write_exact_partials(s, gates, place, live, output);
    return true;
  });
  return output;
}

}  // namespace attest

#include "harness/blame.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "harness/blame_hypotheses.hpp"
#include "harness/blame_merge.hpp"
#include "harness/blame_where.hpp"
#include "harness/judge_gates.hpp"

namespace attest {
namespace {

// A stage's own faults, in the order in which the data flows.
struct Faults {
  Where scores, values, merge_lse, merge_o, rounding;
  Where final;  // lse and o beyond their gates, whoever is to blame
  bool looked_at_values = false, looked_at_merge = false;  // in one row at least
};

bool is_wrong(const Judged& judged) { return judged.fault != Fault::kNone; }

class Scan {
 public:
  Scan(const Subject& subject, const Output& output, const Reference& reference)
      : subject_(subject), output_(output), gates_(subject, reference) {}

  Faults run() {
    each_row_while(subject_, [&](const Place& place, const std::vector<TokenRange>& live) {
      const bool has_tokens = owed_in_row(subject_, place) == Owed::kValue;
      if (!has_tokens) {
        look_at_empty_row(place);
      } else if (subject_.num_splits == 1) {
        look_at_only_split(place);
      }
      if (subject_.num_splits > 1) look_at_splits(place, live);
      if (has_tokens) look_at_final(place);
      if (has_tokens && subject_.num_splits > 1) look_at_merge(place, live);
      return true;
    });
    // What the other rounding explains is evidence for it only when it explains all of o.
    Where& hard = subject_.num_splits > 1 ? faults_.merge_o : faults_.values;
    if (hard.count() > 0) hard.add(std::exchange(faults_.rounding, {}));
    return std::move(faults_);
  }

 private:
  // With one split, what it leaves is lse and o.
  void look_at_only_split(Place place) {
    const Judged lse = gates_.lse.judge(place.row, output_.lse[place.row]);
    if (is_wrong(lse)) return faults_.scores.add(place, lse.fault);
    faults_.looked_at_values = true;
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::int64_t i = place.row * kDV + place.column;
      const Judged o = gates_.o.judge(i, output_.o[i]);
      if (!is_wrong(o)) continue;
      (rounds_otherwise(i) ? faults_.rounding : faults_.values).add(place, o.fault);
    }
  }

  void look_at_empty_row(Place place) {
    const Owed owed = owed_in_row(subject_, place);
    Where& stage = subject_.num_splits > 1 ? faults_.merge_lse : faults_.scores;
    const Judged lse = judge_fixed(Stored::kFp32, owed, -INFINITY, output_.lse[place.row]);
    if (is_wrong(lse)) stage.add(place, lse.fault);
    Where& values = subject_.num_splits > 1 ? faults_.merge_o : faults_.values;
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::uint32_t bits = output_.o[place.row * kDV + place.column];
      const Judged o = judge_fixed(gates_.o.stored(), owed, 0, bits);
      if (is_wrong(o)) values.add(place, o.fault);
    }
  }

  void look_at_splits(Place place, const std::vector<TokenRange>& live) {
    for (place.split = 0; place.split < subject_.num_splits; ++place.split) {
      const std::int64_t stored = stored_partial(subject_, place.row, place.split);
      const Owed owed = owed_in_split(subject_, place, live);
      const std::int64_t at = place.row * subject_.num_splits + place.split;
      const std::uint32_t bits = output_.partial_lse[stored];
      const Judged lse = owed == Owed::kValue ? gates_.partial_lse.judge(at, bits)
                                              : judge_fixed(Stored::kFp32, owed, -INFINITY, bits);
      if (is_wrong(lse)) faults_.scores.add(place, lse.fault);
      if (is_wrong(lse) || owed == Owed::kNothing) continue;
      faults_.looked_at_values = true;
      look_at_values(place, owed, at, output_.partial_o.data() + stored * kDV);
    }
  }

  void look_at_values(Place place, Owed owed, std::int64_t at, const std::uint32_t* bits) {
    const TensorGates& gates = gates_.partial_o;
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::uint32_t o = bits[place.column];
      const Judged judged = owed == Owed::kValue ? gates.judge(at * kDV + place.column, o)
                                                 : judge_fixed(gates.stored(), owed, 0, o);
      if (is_wrong(judged)) faults_.values.add(place, judged.fault);
    }
  }

  void look_at_final(Place place) {
    const Judged lse = gates_.lse.judge(place.row, output_.lse[place.row]);
    if (is_wrong(lse)) faults_.final.add(place, lse.fault);
    for (place.column = 0; place.column < kDV; ++place.column) {
      const std::int64_t i = place.row * kDV + place.column;
      const Judged o = gates_.o.judge(i, output_.o[i]);
      if (is_wrong(o)) faults_.final.add(place, o.fault);
    }
  }

  PartialResult stored_split(std::int64_t row, int split) const {
    const std::int64_t at = stored_partial(subject_, row, split);
    PartialResult partial{std::vector<double>(kDV),
                          value_of(Stored::kFp32, output_.partial_lse[at])};
    for (int d = 0; d < kDV; ++d) {
      partial.o[d] = value_of(gates_.partial_o.stored(), output_.partial_o[at * kDV + d]);
    }
    return partial;
  }

  // Against the kernel's own partials; those of splits that show the row nothing have no weight.
  void look_at_merge(Place place, const std::vector<TokenRange>& live) {
    std::vector<PartialResult> splits;
    for (std::size_t s = 0; s < live.size(); ++s) {
      place.split = static_cast<int>(s);
      if (owed_in_split(subject_, place, live) != Owed::kValue) continue;
      splits.push_back(stored_split(place.row, place.split));
    }
    place.split = -1;
    const Remerged m = merge_again(subject_.contract.arithmetic, splits);
    if (!std::isfinite(m.lse)) return;  // stage 1 left nothing to merge
    faults_.looked_at_merge = true;
    const Fault lse = fault_of(Stored::kFp32, output_.lse[place.row], m.lse, m.lse_bound);
    if (lse != Fault::kNone) faults_.merge_lse.add(place, lse);
    for (place.column = 0; place.column < kDV; ++place.column) {
      const int d = place.column;
      if (!std::isfinite(m.o[d])) continue;
      const std::uint32_t bits = output_.o[place.row * kDV + d];
      const Fault o = fault_of(gates_.o.stored(), bits, m.o[d], m.o_bound[d]);
      if (o == Fault::kNone) continue;
      const bool rounded = fault_of(other_rounding(), bits, m.o[d], m.o_bound[d]) == Fault::kNone;
      (rounded ? faults_.rounding : faults_.merge_o).add(place, o);
    }
  }

  Stored other_rounding() const {
    return gates_.o.stored() == Stored::kBf16 ? Stored::kBf16Truncated : Stored::kBf16;
  }
  bool rounds_otherwise(std::int64_t i) const {
    for (int g = 0; g < gates_.o.count(); ++g) {
      const GateAt gate = gates_.o.at(g, i);
      if (fault_of(other_rounding(), output_.o[i], gate.centre, gate.radius) != Fault::kNone) {
        return false;
      }
    }
    return true;
  }

  const Subject& subject_;
  const Output& output_;
  const CaseGates gates_;
  Faults faults_;
};

// "partial_o, split 5 of 16, ..." of the one or two tensors of a stage.
std::string tensors_text(const Subject& s, const char* lse_name, const Where* lse,
                         const char* o_name, const Where* o) {
  std::string text;
  if (lse != nullptr && lse->count() > 0) text = fmt::format("{}, {}", lse_name, lse->text(s));
  if (o == nullptr || o->count() == 0) return text;
  return text + (text.empty() ? "" : "; ") + fmt::format("{}, {}", o_name, o->text(s));
}

struct StageFaults {
  const char* name;
  std::int64_t count;
  bool looked_at;
  std::string text;
};

std::vector<StageFaults> stages_of(const Subject& s, const Faults& f) {
  const bool merges = s.num_splits > 1;
  const std::int64_t merge = f.merge_lse.count() + f.merge_o.count();
  std::vector<StageFaults> stages = {
      {"scores and softmax", f.scores.count(), true,
       tensors_text(s, merges ? "partial_lse" : "lse", &f.scores, "", nullptr)},
      {"P.V", f.values.count(), f.looked_at_values,
       tensors_text(s, "", nullptr, merges ? "partial_o" : "o", &f.values)}};
  if (merges) {
    stages.push_back(
        {"merge", merge, f.looked_at_merge, tensors_text(s, "lse", &f.merge_lse, "o", &f.merge_o)});
  }
  stages.push_back({kRoundingOfO.data(), f.rounding.count(), true,
                    tensors_text(s, "", nullptr, "o", &f.rounding)});
  return stages;
}

}  // namespace

Blame blame(const Subject& s, const Inputs& inputs, const Output& output, const Reference& r) {
  const Faults faults = Scan(s, output, r).run();
  Blame result;
  std::string others;
  for (const StageFaults& stage : stages_of(s, faults)) {
    if (result.stage.empty() && stage.count > 0) {
      result.stage = stage.name;
      result.text = fmt::format("{}: {}", stage.name, stage.text);
    } else if (stage.name != kRoundingOfO) {
      others += fmt::format("{}{} {}", others.empty() ? "; " : ", ", stage.name,
                            stage.count > 0   ? "wrong too"
                            : stage.looked_at ? "clean"
                                              : "unknown");
    }
  }
  if (result.stage.empty()) {
    if (faults.final.count() == 0) return {};
    result.text = fmt::format("no stage breaks its own bound, but all together break that of {}",
                              faults.final.text(s));
  } else {
    result.text += others;
  }
  Where any;
  for (const Where* where : {&faults.scores, &faults.values, &faults.merge_lse, &faults.merge_o,
                             &faults.rounding, &faults.final}) {
    any.add(*where);
  }
  result.hypothesis = fitting_hypothesis(s, inputs, output, r, any.rows());
  if (!result.hypothesis.empty()) {
    result.text += fmt::format("; it behaves as if {}", result.hypothesis);
  }
  return result;
}

}  // namespace attest

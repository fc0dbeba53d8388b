#include "harness/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "harness/bucket.hpp"
#include "harness/core/check.hpp"
#include "harness/judge_spread.hpp"
#include "harness/judge_statistics.hpp"
#include "harness/judge_tensor.hpp"

namespace attest {
namespace {

// The four tensors, in the order in which the data flows.
struct Tensors {
  explicit Tensors(const CaseGates& gates)
      : partial_lse("partial_lse", gates.partial_lse),
        partial_o("partial_o", gates.partial_o),
        lse("lse", gates.lse),
        o("o", gates.o) {}
  std::array<const TensorJudge*, 4> all() const { return {&partial_lse, &partial_o, &lse, &o}; }
  TensorJudge partial_lse, partial_o, lse, o;
};

void check_shapes(const Subject& s, const Output& output, const Expected& expected) {
  const std::size_t rows = s.problem.rows();
  const std::size_t partials = s.num_splits > 1 ? rows * s.num_splits : 0;
  ATTEST_CHECK(output.lse.size() == rows && expected.lse.size() == rows);
  ATTEST_CHECK(output.o.size() == rows * kDV && expected.o.size() == rows * kDV);
  ATTEST_CHECK(output.partial_lse.size() == partials && expected.partial_lse.size() == partials);
  ATTEST_CHECK(output.partial_o.size() == partials * kDV);
  ATTEST_CHECK(expected.partial_o.size() == partials * kDV);
}

// Calls with the place of each of a row's columns and its index in the row.
template <class Visit>
void each_column(Place place, const Visit& visit) {
  for (place.column = 0; place.column < kDV; ++place.column) visit(place, place.column);
}

void judge_final_row(const Subject& s, const Place& place, const Output& output, Tensors& tensors) {
  const std::int64_t row = place.row;
  const std::uint16_t* const o = output.o.data() + row * kDV;
  const Owed owed = owed_in_row(s, place);
  if (owed != Owed::kValue) {
    tensors.lse.fixed(place, owed, -std::numeric_limits<double>::infinity(), output.lse[row]);
    return each_column(place, [&](const Place& at, int d) { tensors.o.fixed(at, owed, 0, o[d]); });
  }
  tensors.lse.element(place, row, output.lse[row]);
  each_column(place, [&](const Place& at, int d) { tensors.o.element(at, row * kDV + d, o[d]); });
}

void judge_partials_of_row(const Subject& s, Place place, const std::vector<TokenRange>& live,
                           const Output& output, Tensors& tensors) {
  for (place.split = 0; place.split < s.num_splits; ++place.split) {
    const std::int64_t stored = stored_partial(s, place.row, place.split);
    const std::int64_t at = place.row * s.num_splits + place.split;
    const std::uint32_t* const o = output.partial_o.data() + stored * kDV;
    const std::uint32_t lse = output.partial_lse[stored];
    const Owed owed = owed_in_split(s, place, live);
    if (owed == Owed::kValue) {
      tensors.partial_lse.element(place, at, lse);
      each_column(place,
                  [&](const Place& p, int d) { tensors.partial_o.element(p, at * kDV + d, o[d]); });
      continue;
    }
    tensors.partial_lse.fixed(place, owed, -std::numeric_limits<double>::infinity(), lse);
    if (owed == Owed::kUnwritten) {
      each_column(place, [&](const Place& p, int d) { tensors.partial_o.fixed(p, owed, 0, o[d]); });
    }
  }
}

void judge_rows(const Subject& s, const Output& output, Tensors& tensors) {
  each_row_while(s, [&](const Place& place, const std::vector<TokenRange>& live) {
    judge_final_row(s, place, output, tensors);
    if (s.num_splits > 1) judge_partials_of_row(s, place, live, output, tensors);
    return true;
  });
}

std::string values_text(Fault fault, const Worst& at, Stored stored) {
  const int digits = stored == Stored::kFp32 ? 8 : 4;
  if (fault == Fault::kUnwritten) {
    return fmt::format("still holds the poison 0x{:0{}x}, expected {:.9g}", at.actual_bits, digits,
                       at.expected);
  }
  if (fault == Fault::kOverwritten) {
    return fmt::format("holds {:.9g} (0x{:0{}x}) where the contract says nothing is written",
                       at.actual, at.actual_bits, digits);
  }
  return fmt::format(
      "actual {:.9g} (0x{:0{}x}), expected {:.9g} (0x{:0{}x}), error {:.3g}, bound {:.3g}, ratio "
      "{:.3g}",
      at.actual, at.actual_bits, digits, at.expected, at.expected_bits, digits, at.error, at.bound,
      at.ratio);
}

// What a failure is named after: of the first stage that holds a fault, the kind that hides the
// others, and the first tensor that has it.
struct Guilt {
  Bucket bucket;
  FaultKind kind = FaultKind::kWrong;
  const TensorJudge* tensor = nullptr;
};

// Where a number goes wrong first; or, of what is no number, which stage did it. A wrong lse makes
// what is weighed by it wrong.
std::string_view stage_of(bool is_stage1, bool is_number, const TensorJudge& lse) {
  if (!is_number) return is_stage1 ? "stage1" : "stage2";
  if (!is_stage1) return "merge";
  return lse.wrong() > 0 ? "scores" : "values";
}

std::optional<Guilt> guilt_of(const Subject& s, const Tensors& t) {
  const bool partials_wrong = t.partial_lse.wrong() + t.partial_o.wrong() > 0;
  const TensorJudge& lse = partials_wrong ? t.partial_lse : t.lse;
  const TensorJudge& o = partials_wrong ? t.partial_o : t.o;
  for (const FaultKind kind : kFaultKinds) {
    const FaultSet &in_lse = lse.faults(kind), &in_o = o.faults(kind);
    if (in_lse.count() + in_o.count() == 0) continue;
    const bool is_wrong = kind == FaultKind::kWrong;
    const bool is_zero =
        is_wrong && in_o.count() > 0 && in_o.is_all_zeros() && in_lse.is_all_zeros();
    const bool is_number =
        (is_wrong && !is_zero) || kind == FaultKind::kNan || kind == FaultKind::kInf;
    const StageFaults faults{&in_lse, &in_o};
    const std::string_view stage = stage_of(partials_wrong || s.num_splits == 1, is_number, lse);
    return Guilt{{std::string(stage), is_zero ? "zero" : std::string(to_string(kind)),
                  std::string(pattern_of(s, kind, faults)), std::string(s.kernel)},
                 kind,
                 in_lse.count() > 0 ? &lse : &o};
  }
  return std::nullopt;
}

std::string reason_of(const Subject& s, const Guilt& guilt, const Finding& finding) {
  const TensorJudge& tensor = *guilt.tensor;
  std::string reason = fmt::format("{}: {} {} at {}: {}; {} of {} elements of {}", s.kernel,
                                   tensor.name(), guilt.bucket.kind, place_text(finding.at),
                                   values_text(finding.judged.fault, finding.at, tensor.stored()),
                                   tensor.wrong(), tensor.checked(), tensor.name());
  if (const std::string meaning = tensor.meaning(finding.judged); !meaning.empty()) {
    reason += "; " + meaning;
  }
  if (!finding.at.terms.empty()) {
    reason += fmt::format("; largest term of {}: {} ({:.3g})", finding.at.tier,
                          finding.at.terms[0].name, finding.at.terms[0].value);
  }
  return reason;
}

void fail(const Subject& s, const Tensors& tensors, const Guilt& guilt, const Explain& explain,
          Verdict& verdict) {
  Finding finding = guilt.tensor->finding(guilt.kind);
  if (explain && finding.judged.fault == Fault::kWrong) finding.at.terms = explain(finding.at);

  verdict.status = Status::kFailed;
  verdict.bucket = to_string(guilt.bucket);
  verdict.reason = reason_of(s, guilt, finding);
  std::optional<Tier> loosest;
  for (const TensorJudge* tensor : tensors.all()) {
    const std::optional<Tier> broken = tensor->broken_tier();
    if (broken && (!loosest || *broken < *loosest)) loosest = broken;
  }
  if (loosest) verdict.broken_tier = to_string(*loosest);
  // What the reason names is what the report shows of that tensor.
  for (Worst& worst : verdict.worst) {
    if (worst.tensor == finding.at.tensor) worst = finding.at;
  }
}

void fail_for_damage(const Subject& s, const Output& output, Verdict& verdict) {
  verdict.status = Status::kFailed;
  verdict.bucket = to_string(bucket_of_damage(output.damage[0], s.kernel));
  verdict.reason = fmt::format("{}: {}", s.kernel, fmt::join(output.damage, "\n"));
}

// Why a case without a fault proves nothing; empty when it may.
std::string why_vacuous(const Tensors& tensors) {
  std::int64_t checked = 0, unbounded = 0;
  for (const TensorJudge* tensor : tensors.all()) {
    checked += tensor->checked();
    unbounded += tensor->unbounded();
  }
  if (checked == 0) return "no element was judged";
  if (unbounded > 0) return fmt::format("the bound of {} elements is infinite", unbounded);
  return {};
}

void explain_worst(const Explain& explain, Verdict& verdict) {
  if (!explain || verdict.worst.empty()) return;
  Worst& worst =
      *std::max_element(verdict.worst.begin(), verdict.worst.end(),
                        [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
  if (std::isfinite(worst.expected) && worst.bound > 0) worst.terms = explain(worst);
}

}  // namespace

Verdict judge(const Subject& subject, const Output& output, const Reference& reference,
              const Explain& explain) {
  check_shapes(subject, output, reference.expected);
  const CaseGates gates(subject, reference);
  Tensors tensors(gates);
  judge_rows(subject, output, tensors);

  Verdict verdict;
  verdict.remarks = output.remarks;
  verdict.contract = to_text(subject.contract);
  verdict.kernel_ms = output.kernel_ms;
  verdict.spreads = spreads_of(subject, output, gates);
  verdict.evidence = facts_of(reference);
  for (const TensorJudge* tensor : tensors.all()) {
    verdict.checked += tensor->checked();
    verdict.wrong += tensor->wrong();
    if (!tensor->worst().tensor.empty()) verdict.worst.push_back(tensor->worst());
    if (tensor->wrong() > 0) verdict.fault_maps.push_back(tensor->places().map(tensor->name()));
  }
  const Mismatch mismatch = mismatch_of(subject, output, reference);
  verdict.evidence.mismatch = mismatch.share();
  if (!output.damage.empty()) {
    fail_for_damage(subject, output, verdict);
  } else if (const std::optional<Guilt> guilt = guilt_of(subject, tensors)) {
    fail(subject, tensors, *guilt, explain, verdict);
  } else if (const std::string why = why_vacuous(tensors); !why.empty()) {
    verdict.status = Status::kVacuous;
    verdict.reason = why;
  } else {
    const Suspicion suspicion = why_suspect(verdict.evidence.scores, mismatch);
    verdict.reason = suspicion.reason;
    verdict.status = verdict.reason.empty() ? Status::kPassed : Status::kSuspect;
    if (!verdict.reason.empty()) {
      verdict.bucket =
          to_string(Bucket{"suspect", suspicion.filter, "all", std::string(subject.kernel)});
    }
    explain_worst(explain, verdict);
  }
  return verdict;
}

}  // namespace attest

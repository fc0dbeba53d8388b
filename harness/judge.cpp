#include "harness/judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/core/check.hpp"
#include "harness/judge_tensor.hpp"

namespace attest {
namespace {

// The four tensors, in the order in which the data flows.
struct Tensors {
  Tensors(const Subject& s)
      : partial_lse("partial_lse", Stored::kFp32, s.problem.rows()),
        partial_o("partial_o", s.contract.arithmetic.bf16_partials ? Stored::kBf16 : Stored::kFp32,
                  s.problem.rows()),
        lse("lse", Stored::kFp32, s.problem.rows()),
        o("o", Stored::kBf16, s.problem.rows()) {}
  std::array<const TensorJudge*, 4> all() const { return {&partial_lse, &partial_o, &lse, &o}; }
  TensorJudge partial_lse, partial_o, lse, o;
};

void check_shapes(const Subject& s, const Output& output, const Expected& expected,
                  const Bound& bound) {
  const std::size_t rows = s.problem.rows();
  const std::size_t partials = s.num_splits > 1 ? rows * s.num_splits : 0;
  for (const std::size_t size : {output.lse.size(), expected.lse.size(), bound.lse.size()}) {
    ATTEST_CHECK(size == rows);
  }
  for (const std::size_t size : {output.o.size(), expected.o.size(), bound.o.size()}) {
    ATTEST_CHECK(size == rows * kDV);
  }
  for (const std::size_t size :
       {output.partial_lse.size(), expected.partial_lse.size(), bound.partial_lse.size()}) {
    ATTEST_CHECK(size == partials);
  }
  for (const std::size_t size :
       {output.partial_o.size(), expected.partial_o.size(), bound.partial_o.size()}) {
    ATTEST_CHECK(size == partials * kDV);
  }
}

// Calls with the place of each of a row's columns and its index in the row.
template <class Visit>
void each_column(Place place, const Visit& visit) {
  for (place.column = 0; place.column < kDV; ++place.column) visit(place, place.column);
}

void judge_final_row(const Subject& s, const Place& place, const Output& output,
                     const Expected& expected, const Bound& bound, Tensors& tensors) {
  const std::int64_t row = place.row;
  const std::uint16_t* const o = output.o.data() + row * kDV;
  if (s.problem.visible(place.sequence, place.query_token) == 0) {
    if (s.contract.empty_row == EmptyRow::kUnwritten) {
      tensors.lse.empty_place(place, output.lse[row]);
      return each_column(place, [&](const Place& at, int d) { tensors.o.empty_place(at, o[d]); });
    }
    // Exactly zero of either sign, and exactly -inf.
    tensors.lse.element(place, output.lse[row], -std::numeric_limits<double>::infinity(), 0);
    return each_column(place, [&](const Place& at, int d) { tensors.o.element(at, o[d], 0, 0); });
  }
  tensors.lse.element(place, output.lse[row], expected.lse[row], bound.lse[row]);
  each_column(place, [&](const Place& at, int d) {
    tensors.o.element(at, o[d], expected.o[row * kDV + d], bound.o[row * kDV + d]);
  });
}

void judge_partials_of_row(const Subject& s, Place place, std::int64_t token,
                           const std::vector<TokenRange>& live, const Output& output,
                           const Expected& expected, const Bound& bound, Tensors& tensors) {
  const int visible = s.problem.visible(place.sequence, place.query_token);
  for (int split = 0; split < s.num_splits; ++split) {
    place.split = split;
    const std::int64_t stored = (token * s.num_splits + split) * s.problem.h_q + place.head;
    const std::int64_t at = place.row * s.num_splits + split;
    const std::uint32_t* const o = output.partial_o.data() + stored * kDV;
    if (split >= static_cast<int>(live.size())) {
      tensors.partial_lse.empty_place(place, output.partial_lse[stored]);
      each_column(place, [&](const Place& p, int d) { tensors.partial_o.empty_place(p, o[d]); });
    } else if (visible <= live[split].begin) {
      // The split shows this row no token. Its partial o is free: the merge gives it no weight.
      tensors.partial_lse.element(place, output.partial_lse[stored],
                                  -std::numeric_limits<double>::infinity(), 0);
    } else {
      tensors.partial_lse.element(place, output.partial_lse[stored], expected.partial_lse[at],
                                  bound.partial_lse[at]);
      each_column(place, [&](const Place& p, int d) {
        tensors.partial_o.element(p, o[d], expected.partial_o[at * kDV + d],
                                  bound.partial_o[at * kDV + d]);
      });
    }
  }
}

void judge_rows(const Subject& s, const Output& output, const Expected& expected,
                const Bound& bound, Tensors& tensors) {
  const Problem& p = s.problem;
  std::int64_t token = 0;
  for (int seq = 0; seq < p.b(); ++seq) {
    const std::vector<TokenRange> live =
        live_splits(s.contract.split_rule, p.s_kv[seq], s.num_splits);
    for (int i = 0; i < p.s_q[seq]; ++i, ++token) {
      for (int head = 0; head < p.h_q; ++head) {
        const Place place{
            .sequence = seq, .query_token = i, .head = head, .row = token * p.h_q + head};
        judge_final_row(s, place, output, expected, bound, tensors);
        if (s.num_splits > 1) {
          judge_partials_of_row(s, place, token, live, output, expected, bound, tensors);
        }
      }
    }
  }
}

std::string_view kind_of(Fault fault) {
  switch (fault) {
    case Fault::kUnwritten:
      return "unwritten";
    case Fault::kNonFinite:
      return "nonfinite";
    case Fault::kOverwritten:
      return "overwritten";
    default:
      return "wrong";
  }
}

std::string place_text(const Worst& at) {
  std::string text =
      fmt::format("sequence {}, query token {}, head {}", at.sequence, at.query_token, at.head);
  if (at.split >= 0) text += fmt::format(", split {}", at.split);
  if (at.column >= 0) text += fmt::format(", column {}", at.column);
  return text;
}

std::string values_text(Fault fault, const Worst& at, Stored stored) {
  const int digits = stored == Stored::kBf16 ? 4 : 8;
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

// The first tensor with missing values, else the first with wrong ones.
const TensorJudge* tensor_to_blame(const Tensors& tensors) {
  for (const TensorJudge* tensor : tensors.all()) {
    if (tensor->has_missing()) return tensor;
  }
  for (const TensorJudge* tensor : tensors.all()) {
    if (tensor->wrong() > 0) return tensor;
  }
  return nullptr;
}

void fail(const Subject& s, const Tensors& tensors, const TensorJudge& blamed,
          const Explain& explain, Verdict& verdict) {
  Finding finding = blamed.finding();
  const bool partials_wrong = tensors.partial_lse.wrong() + tensors.partial_o.wrong() > 0;
  const std::string_view stage = s.num_splits == 1 || partials_wrong ? "stage1" : "stage2";
  if (explain && finding.fault == Fault::kWrong) finding.at.terms = explain(finding.at);

  verdict.status = Status::kFailed;
  verdict.bucket =
      fmt::format("{}.{}.{}.{}", stage, kind_of(finding.fault), blamed.pattern(), s.kernel);
  verdict.reason = fmt::format("{}: {} {} at {}: {}; {} of {} elements of {}, pattern {}", s.kernel,
                               blamed.name(), kind_of(finding.fault), place_text(finding.at),
                               values_text(finding.fault, finding.at, blamed.stored()),
                               blamed.wrong(), blamed.checked(), blamed.name(), blamed.pattern());
  if (!finding.at.terms.empty()) {
    verdict.reason += fmt::format("; largest term of the bound: {} ({:.3g})",
                                  finding.at.terms[0].name, finding.at.terms[0].value);
  }
  // What the reason names is what the report shows of that tensor.
  for (Worst& worst : verdict.worst) {
    if (worst.tensor == finding.at.tensor) worst = finding.at;
  }
}

void fail_for_damage(const Subject& s, const Output& output, Verdict& verdict) {
  verdict.status = Status::kFailed;
  verdict.bucket = fmt::format("memory.damage.all.{}", s.kernel);
  verdict.reason = fmt::format("{}: {}", s.kernel, fmt::join(output.damage, "; "));
}

// Why a case without a fault proves nothing; empty when it does.
std::string why_vacuous(const Tensors& tensors) {
  std::int64_t checked = 0, unbounded = 0;
  bool rejects_zeros = false;
  for (const TensorJudge* tensor : tensors.all()) {
    checked += tensor->checked();
    unbounded += tensor->unbounded();
    rejects_zeros |= tensor->rejects_zeros();
  }
  if (checked == 0) return "no element was judged";
  if (unbounded > 0) return fmt::format("the bound of {} elements is infinite", unbounded);
  if (!rejects_zeros) return "an output of zeros would pass too";
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

Verdict judge(const Subject& subject, const Output& output, const Expected& expected,
              const Bound& bound, const Explain& explain) {
  check_shapes(subject, output, expected, bound);
  Tensors tensors(subject);
  judge_rows(subject, output, expected, bound, tensors);

  Verdict verdict;
  for (const TensorJudge* tensor : tensors.all()) {
    verdict.checked += tensor->checked();
    verdict.wrong += tensor->wrong();
    if (!tensor->worst().tensor.empty()) verdict.worst.push_back(tensor->worst());
  }
  if (!output.damage.empty()) {
    fail_for_damage(subject, output, verdict);
  } else if (const TensorJudge* blamed = tensor_to_blame(tensors)) {
    fail(subject, tensors, *blamed, explain, verdict);
  } else if (const std::string why = why_vacuous(tensors); !why.empty()) {
    verdict.status = Status::kVacuous;
    verdict.reason = why;
  } else {
    verdict.status = Status::kPassed;
    explain_worst(explain, verdict);
  }
  return verdict;
}

}  // namespace attest

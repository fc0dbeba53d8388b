// Pairs of runs for tests of compare() and of its formats.
#pragma once
#include <list>
#include <string>
#include <vector>

#include "reports/compare/compare.hpp"
#include "reports/history/test_runs.hpp"

namespace attest::test_pairs {

using test_runs::run_of;
using test_runs::token_of;

inline constexpr const char* kContract = "matrix_unit=fma p_bits=8 merge=max_first";

inline CaseRecord good(int i) {
  CaseRecord record = test_runs::case_of(token_of(i), 0.5);
  Verdict& v = record.verdict;
  v.checked = 1000;
  v.contract = kContract;
  v.kernel_ms = 2;
  v.evidence.tokens_visible = 1;
  v.evidence.strawmen = {"zeros", "last token dropped"};
  v.evidence.rows_certified = 2;
  v.schedules = 8;
  for (Worst& worst : v.worst) worst.tier = "T2p", worst.bound = 1e-4;
  for (const Worst& worst : v.worst) {
    Spread spread;
    spread.tensor = worst.tensor;
    spread.sampled = 100;
    spread.ratio_median = 0.1, spread.ratio_p99 = 0.3, spread.bound_median = 1e-4;
    v.spreads.push_back(spread);
  }
  return record;
}

inline void fail(CaseRecord& record, const std::string& bucket = "merge.wrong.all.mla_decode") {
  record.verdict.status = Status::kFailed;
  record.verdict.bucket = bucket;
  record.verdict.reason = "mla_decode: o wrong at head 3\nand a second line";
  record.verdict.source = "kernels/mla_decode/stage2.hpp:88";
  record.verdict.worst[1].ratio = 47;
}

inline std::vector<CaseRecord> eight() {
  std::vector<CaseRecord> cases;
  for (int i = 0; i < 8; ++i) cases.push_back(good(i));
  return cases;
}

inline Comparison compared(const std::vector<CaseRecord>& base, const std::vector<CaseRecord>& pr) {
  static std::list<Results> kept;  // a Comparison points into them
  const Results& of_base = kept.emplace_back(run_of(0, base));
  return compare(of_base, "base.jsonl", kept.emplace_back(run_of(1, pr)), "pr.jsonl");
}
// Of eight cases of which one is edited on PR.
template <class Edit>
Comparison with(const Edit& edit) {
  std::vector<CaseRecord> pr = eight();
  edit(pr[3]);
  return compared(eight(), pr);
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace attest::test_pairs

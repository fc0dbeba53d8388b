// Results for tests of what is made of several runs.
#pragma once
#include <fmt/format.h>

#include <string>
#include <vector>

#include "reports/run/results.hpp"

namespace attest::test_runs {

inline std::string token_of(int i) { return fmt::format("v1:k=mla_decode:h=1:s=300:seed={}", i); }

inline CaseRecord case_of(const std::string& token, double ratio_of_o,
                          Status status = Status::kPassed, const std::string& bucket = {}) {
  CaseRecord record{token, {}, 20};
  record.phase = "smoke";
  Verdict& v = record.verdict;
  v.status = status;
  v.bucket = bucket;
  if (status != Status::kPassed) v.reason = "o is wrong";
  v.worst.resize(2);
  v.worst[0].tensor = "lse", v.worst[0].ratio = ratio_of_o / 2;
  v.worst[1].tensor = "o", v.worst[1].ratio = ratio_of_o;
  return record;
}

// `cases` passing ones, whose ratios lie around `level`.
inline std::vector<CaseRecord> cases_of(int cases, double level = 0.5) {
  std::vector<CaseRecord> records;
  for (int i = 0; i < cases; ++i) {
    records.push_back(case_of(token_of(i), level * (0.5 + static_cast<double>(i) / cases)));
  }
  return records;
}

// The run of a night, 0 the first of January.
inline Results run_of(int night, std::vector<CaseRecord> cases) {
  RunHeader header{"nightly --tier smoke", "emu:gfx942", "a CPU", 0};
  header.cases = static_cast<std::int64_t>(cases.size());
  header.run = fmt::format("{:016x}", night);
  header.started = fmt::format("2026-{:02}-{:02}T02:00:00Z", night / 28 % 12 + 1, night % 28 + 1);
  header.build = "0.1.0, code objects 5b1f09aa41c7d2e3";
  header.bounds = "1";
  Results results;
  results.runs = {header};
  results.cases = std::move(cases);
  for (const CaseRecord& record : results.cases) {
    results.planned.push_back({record.planned_token(), record.phase, record.total_ms});
    results.tally.add(record.verdict.status);
  }
  results.seconds = 2.5;
  return results;
}

}  // namespace attest::test_runs

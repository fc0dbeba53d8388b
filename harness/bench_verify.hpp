// How fast cases are verified on a device, end to end: drawn or listed, generated, run, held
// against the reference, judged and proved; on threads that have a device each, as fuzz runs them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "harness/case_runner.hpp"
#include "harness/core/case.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

struct VerifyWork {
  std::string name;  // "smoke", "fuzz"
  std::int64_t cases = 0;
  std::function<Case(std::int64_t)> at;  // called by many threads
};

using AtStage = std::function<void(std::string_view stage)>;
// A runner for each thread, which opens it. It tells when a stage begins, where it can.
using OpenStaged = std::function<Result<std::unique_ptr<CaseRunner>>(AtStage at_stage)>;
// On a device of this process.
OpenStaged staged_runners(const CommonOptions& common);

struct VerifySpeed {
  std::string name;
  std::int64_t cases = 0, kv_tokens = 0;
  double seconds = 0;
  std::map<std::string, double> stage_seconds;  // of all threads together
  Tally tally;
  std::string first_finding;  // token and reason; empty: none
  double cases_per_s() const { return static_cast<double>(cases) / seconds; }
  double tokens_per_s() const { return static_cast<double>(kv_tokens) / seconds; }
  double share(const std::string& stage) const;  // 0..1, of the time of all stages
};

// All runners are warm before the clock starts. Trouble when one cannot be opened.
Result<VerifySpeed> bench_verify(const VerifyWork& work, int threads, const OpenStaged& open);

}  // namespace attest

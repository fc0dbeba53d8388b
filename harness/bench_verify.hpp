// How fast cases are verified on a device, end to end: drawn or listed, generated, run, held
// against the reference, judged and proved; on threads that have a device each, as fuzz runs them.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "harness/core/case.hpp"
#include "harness/core/device.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

struct VerifyWork {
  std::string name;  // "smoke", "fuzz"
  std::int64_t cases = 0;
  std::function<Case(std::int64_t)> at;  // called by many threads
};

struct VerifyBenchOptions {
  std::string code_objects;  // folder
  int threads = 1;
  std::function<Result<std::unique_ptr<Device>>()> open_device;  // one for each thread
};

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

// The device is warm before the clock starts. Trouble when a device cannot be opened.
Result<VerifySpeed> bench_verify(const VerifyWork& work, const VerifyBenchOptions& options);

}  // namespace attest

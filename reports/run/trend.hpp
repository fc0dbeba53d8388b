// Trend: what a history of runs says (reports/history). Empty where there is none.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace attest {

// One run of a family: quantiles, over its cases, of each case's largest error / bound.
struct TrendPoint {
  std::string run, started, build;  // of its RunHeader
  std::int64_t cases = 0, failed = 0;
  double median = 0, p90 = 0, p99 = 0, largest = 0;
};

struct TrendLine {
  std::string family;              // kernel, device and tensor: "mla_decode emu:gfx942 lse"
  std::vector<TrendPoint> points;  // oldest first
  std::vector<int> changes;        // points at which the level changed
};

struct BucketLife {
  std::string bucket;
  std::string first_seen, last_seen;  // RunHeader::started
  std::int64_t runs_seen = 0;         // in which it failed
  std::int64_t runs_since = 0;        // newer ones, that ran a case of it and did not find it
  std::int64_t cases = 0;
  double flaky_rate = 0;           // share of its cases that were flaky
  double seconds_to_first = -1;    // median, over runs, from their begin to its first case
  std::string example;             // a token
  std::string repro_options = {};  // that `attest repro` needs besides: " --device emu:gfx90a"
};

struct Trend {
  std::vector<TrendLine> lines;
  std::vector<BucketLife> buckets;  // last seen first
  bool empty() const { return lines.empty() && buckets.empty(); }
};

}  // namespace attest

// Progress: how far a run is, and when it will be through.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "reports/reporter.hpp"
#include "reports/run/status_line.hpp"

namespace attest {

class Progress {
 public:
  explicit Progress(Screen screen) : line_(std::move(screen)) {}

  void begin(std::int64_t cases) { cases_ = cases; }
  void plan(std::span<const PlannedCase> cases);  // with costs; without: all cost the same
  void case_begin(const std::string& token);      // several may run at once
  void case_end(const CaseRecord& record);
  void clear() { line_.clear(); }  // before anything else is printed

  // "[=====>    ] 37/88  12.4/s  ETA 0:12  2 buckets  v1:k=mla_decode:h=1"; of so many columns
  // that the counts stay whole. 0: a line for a file, without the bar.
  std::string text(int columns) const;

 private:
  double share() const;  // of the work that is done, 0..1
  std::string counts() const;

  StatusLine line_;
  std::int64_t cases_ = 0, done_ = 0;
  std::map<std::string, double, std::less<>> cost_ms_;  // of the planned that have not ended
  double planned_ms_ = 0, done_ms_ = 0;
  std::set<std::string> buckets_;
  std::vector<std::string> running_;  // in the order in which they began
};

// "0:12", "12:34", "1:02:03"
std::string clock_text(double seconds);
// "12.4/s", "3.5 s each"
std::string rate_text(double count, double seconds);

}  // namespace attest

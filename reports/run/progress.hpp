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
  // What will run, with its costs; without a plan all cost the same.
  void plan(std::span<const PlannedCase> cases);
  void case_begin(const std::string& token);  // several may run at once
  void case_end(const CaseRecord& record);
  void tick();                     // now and then: time goes by
  void clear() { line_.clear(); }  // before anything else is printed

  // "[=====>    ] 37/88  12.4/s  ETA 0:12  2 buckets  for 0:42 v1:k=mla_decode:h=1": last, what has
  // run for longest, and for how long where that is long. 0 columns: for a file, without the bar.
  std::string text(int columns) const;

 private:
  double share() const;  // of the work that is done, 0..1
  std::string counts() const;

  StatusLine line_;
  std::int64_t cases_ = 0, done_ = 0;
  std::map<std::string, double, std::less<>> cost_ms_;  // of the planned that have not ended
  double planned_ms_ = 0, done_ms_ = 0;
  std::set<std::string> buckets_;
  struct Running {
    std::string token;
    double since;  // seconds of line_
  };
  std::vector<Running> running_;  // in the order in which they began
};

// "0:12", "12:34", "1:02:03"
std::string clock_text(double seconds);
// "12.4/s", "3.5 s each"
std::string rate_text(double count, double seconds);

}  // namespace attest

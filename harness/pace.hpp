// Pace: how long the cases of a nightly take, by what they are expected to cost and by what those
// took that have ended. A slow machine is no hang.
#pragma once
#include <vector>

namespace attest {

class Pace {
 public:
  // `launches`: of each case, where its cost is that of one.
  explicit Pace(double launches) : launches_(launches) {}

  void took(double cost_ms, double ms);
  double expected_s(double cost_ms) const;
  double limit_s(double cost_ms) const;  // without an answer for so long it hangs

 private:
  double launches_;
  double measured_ = 0;  // median of what a case took over its cost; 0: too few have ended
  std::vector<double> ratios_;
};

}  // namespace attest

// Which tokens of a row have one and the same K and V.
#pragma once
#include <vector>

#include "reference/job.hpp"

namespace attest {

// The tokens that a row sees, by their K and V. Where these repeat, errors and directions do: seen
// along the m of them in a range, the errors of all N add up to N / m. (What has one score and
// another V errs along another direction.)
class Alike {
 public:
  Alike(const Problem& problem, const Inputs& inputs, const BlockJob& job, int row_of_block);
  // The largest N / m of what the row sees of [begin, end).
  double elsewhere(int begin, int end);

 private:
  std::vector<int> kinds_;       // [visible] -1: it does not repeat; empty: none does
  std::vector<int> all_, here_;  // tokens of a kind: of the row; of a range
};

}  // namespace attest

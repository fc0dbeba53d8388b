#include "harness/core/fault_pattern.hpp"

#include <bit>

#include "harness/core/problem.hpp"

namespace attest {

bool FaultPattern::is_in_columns() const {
  constexpr std::int64_t kFewest = 32;
  const int blocks = std::popcount(blocks_);
  return faults_ >= kFewest && blocks > 0 && blocks <= kDV / kBlockColumns / 2;
}

}  // namespace attest

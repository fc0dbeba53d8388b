#include "harness/core/device.hpp"

#include <chrono>

namespace attest {

Result<double> Device::time_ms(const std::function<Outcome()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  if (const Outcome o = work(); !o.ok()) return o.trouble();
  if (const Outcome o = synchronize(); !o.ok()) return o.trouble();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
      .count();
}

}  // namespace attest

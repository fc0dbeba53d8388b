// The kernels under test, one line each.
#include <algorithm>
#include <array>

#include "harness/core/kernel.hpp"
#include "kernels/mla_decode/launch.hpp"

namespace attest {

std::span<const Kernel* const> all_kernels() {
  static const std::array kernels = {
      &mla_decode::fp32_partials(),
      &mla_decode::bf16_partials(),
  };
  return kernels;
}

const Kernel* find_kernel(std::string_view name) {
  const auto kernels = all_kernels();
  const auto found = std::find_if(kernels.begin(), kernels.end(),
                                  [&](const Kernel* kernel) { return kernel->name() == name; });
  return found == kernels.end() ? nullptr : *found;
}

}  // namespace attest

// The kernels under test, one line each.
#include <algorithm>
#include <array>

#include "harness/core/kernel.hpp"
#include "kernels/external/aiter.hpp"
#include "kernels/mla_decode/launch.hpp"

namespace attest {

std::span<const Kernel* const> all_kernels() {
  static const std::array kernels = {
      &mla_decode::fp32_partials(),
      &mla_decode::bf16_partials(),
  };
  return kernels;
}

std::span<const Kernel* const> external_kernels() { return external::aiter_kernels(); }

const Kernel* find_kernel(std::string_view name) {
  for (const auto kernels : {all_kernels(), external_kernels()}) {
    const auto found = std::find_if(kernels.begin(), kernels.end(),
                                    [&](const Kernel* kernel) { return kernel->name() == name; });
    if (found != kernels.end()) return *found;
  }
  return nullptr;
}

}  // namespace attest

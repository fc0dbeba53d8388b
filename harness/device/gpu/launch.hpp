// One launch of a kernel of a loaded module.
#pragma once
#include <cstddef>
#include <span>

#include "harness/core/device.hpp"
#include "harness/device/gpu/streams.hpp"

namespace attest::gpu_driver {

// `arguments`: each at its natural alignment.
inline Code launch_kernel(Streams& streams, Stream stream, void* kernel, const LaunchConfig& config,
                          std::span<const std::byte> arguments) {
  // CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END; HIP_LAUNCH_PARAM_*, whose end is another number.
  void* const pointer_follows = reinterpret_cast<void*>(1);
  void* const size_follows = reinterpret_cast<void*>(2);
  void* const end = streams.driver().vendor == "hip" ? reinterpret_cast<void*>(3) : nullptr;
  std::size_t bytes = arguments.size();
  void* extra[] = {pointer_follows, const_cast<std::byte*>(arguments.data()), size_follows, &bytes,
                   end};
  const auto& [grid, block, lds_bytes] = config;
  return streams.attempt(streams.driver().launch, kernel, grid.x, grid.y, grid.z, block.x, block.y,
                         block.z, lds_bytes, stream, static_cast<void**>(nullptr),
                         static_cast<void**>(extra));
}

}  // namespace attest::gpu_driver

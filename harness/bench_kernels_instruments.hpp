// What bench_kernels measures with: device memory filled on the device, and the bandwidth of
// reading it.
#pragma once
#include <cstdint>
#include <string>

#include "harness/core/device.hpp"

namespace attest {

// Values near enough to N(0, 1) in bf16, a function of seed and place. The buffer holds a multiple
// of 16 bytes. It is filled when the next launch begins.
Outcome fill_on_device(Device& device, const std::string& code_objects, const Buffer& buffer,
                       std::uint64_t seed);

struct ReadSpeed {
  double gb_per_s = 0;
  std::int64_t bytes = 0;
  int blocks = 0, loads = 0;  // of the grid; that a thread has under way
};

// The fastest of a few kernels that read `bytes` bytes and do nothing else, each the median of
// `timings`. Trouble when they do not agree on what they read.
Result<ReadSpeed> bench_read(Device& device, const std::string& code_objects, std::int64_t bytes,
                             int timings);

// The medians and the ends of `timings` times of `work`, after `warm_ups` that are not counted.
struct Times {
  double median_ms = 0, least_ms = 0, most_ms = 0;
};
Result<Times> time_work(Device& device, int warm_ups, int timings,
                        const std::function<Outcome()>& work);

}  // namespace attest

// `attest bench reference --device cuda:0`: the speed of reference() with its sums on a device, by
// what it is asked for, on one long sequence and on many with as many tokens.
#pragma once
#include <string>
#include <vector>

#include "harness/common_options.hpp"
#include "harness/core/trouble.hpp"

namespace attest {

class GpuReference;

struct GpuReferenceSpeed {
  std::string what;
  double kv_tokens = 0;
  double ms = 0;       // median, from inputs on the host to what was asked for
  double busy_ms = 0;  // of it, the device's own: launches to their end
};

// Of the case of a token: plain, T0, all tiers, those with scores, and all that verify() does with
// an output. `repeats` each.
Result<std::vector<GpuReferenceSpeed>> bench_gpu_reference(GpuReference& gpu,
                                                           const std::string& token, int threads,
                                                           int repeats);

int command_bench_gpu_reference(const CommonOptions& common, const std::string& markdown_path);

}  // namespace attest

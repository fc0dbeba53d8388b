// The speed of a kernel on a device: launches in a graph, each with other inputs, so that none
// finds its data in a cache; and of what came out, one sequence judged as verification judges it,
// so that nonsense has no speed.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "harness/core/kernel.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

struct KernelBenchOptions {
  std::string code_objects = {};  // folder
  int threads = 1;                // of the host, for the reference
  int page_size = 64;
  std::int64_t distinct_bytes = 0;  // of inputs that the launches go round, at least
  std::int64_t read_bytes = 0;      // that the read bandwidth is measured over
  int launches = 1;                 // of one graph, at least
  int timings = 20, warm_ups = 3;   // replays of the graph
};

// What serves on `device`. On a GPU: four times the 60 MB of L2 of an H200 (CUDA C++ Programming
// Guide, "L2 cache"); and a graph of ten launches, so that the begin and the end of one are shared.
KernelBenchOptions bench_options_for(const Device& device);

struct BenchPoint {
  int h_q = 16, s_kv = 1024, b = 1;
  // 0: as many as keep the device's processors busy once, where it says how many it has; else the
  // kernel's own rule.
  int num_splits = 0;
};

struct KernelSpeed {
  BenchPoint point;
  int num_splits = 1;
  int sets = 0, launches = 0;                // of inputs; of a graph
  std::vector<double> stage_us = {};         // of each stage launched alone; none: there is one
  double us = 0, us_least = 0, us_most = 0;  // of one launch: the median of all timings
  double gb_per_s = 0;                       // KV rows once, q, o and lse
  double tflops = 0;                         // 2 b h s (576 + 512)
  Verdict verdict = {};  // of one sequence of the last launch; unless it passed there is no speed
};

// Trouble: kUsage when the kernel does not take the point.
Result<KernelSpeed> bench_kernel(const Kernel& kernel, Device& device, const BenchPoint& point,
                                 const KernelBenchOptions& options);

}  // namespace attest

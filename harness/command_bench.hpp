// `attest bench kernels` and `attest bench verify`: what they take, and the commands.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/commands.hpp"

namespace CLI {
class App;
}

namespace attest {

struct BenchKernelsRequest {
  std::string kernel = "mla_decode";
  std::vector<int> heads = {16, 128};
  std::vector<int> lengths = {1024, 8192, 65536};
  std::vector<int> batches = {1, 8, 32, 64, 128};
  std::vector<int> splits = {0};  // 0: the kernel's choice
  int page_size = 64;
  // None: what serves on the device (bench_options_for()).
  std::optional<std::int64_t> distinct_mib, read_mib;
  std::optional<int> timings, launches;
  std::string out;  // Markdown
};

struct BenchVerifyRequest {
  std::int64_t cases = 1000;  // that are drawn
  std::uint64_t seed = 1;
  bool isolate = false;
  std::string out;  // Markdown
};

void add_bench_kernels_options(CLI::App& sub, BenchKernelsRequest& request);
int command_bench_kernels(const CommonOptions& common, const BenchKernelsRequest& request);

void add_bench_verify_options(CLI::App& sub, BenchVerifyRequest& request);
int command_bench_verify(const CommonOptions& common, const BenchVerifyRequest& request);

}  // namespace attest

// A driver for tests: memory is the host's, kernels run in the emulator, and each call can be told
// to fail. What it was asked for can be looked at.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/gpu/driver.hpp"

namespace attest::gpu_driver {

struct FakeGpu {
  FakeGpu();

  // To choose.
  std::string architecture = "gfx942";
  std::map<std::string, Code> fails;  // by the call's name: what its next call returns
  std::set<std::size_t> never_ready;  // streams, by number
  int polls_until_ready = 0;

  // To look at.
  std::map<std::string, int> calls;           // by name
  std::vector<std::string> order;             // "fill 0", "launch 1", "wait 0": by stream
  std::vector<std::size_t> captured_on;       // streams
  std::map<std::size_t, std::size_t> pages;   // reserved ranges, by address
  std::map<std::size_t, std::size_t> mapped;  // of them, what is mapped
  std::set<unsigned long long> handles;
  Code fault = 0;  // sticks

  // Its own.
  std::unique_ptr<Device> emulator;
  std::map<Address, Buffer> allocations;
  std::vector<std::unique_ptr<std::size_t>> streams;
  std::map<std::size_t, int> polls;
  bool is_capturing = false;
  std::vector<std::unique_ptr<Graph>> graphs;
  std::vector<std::unique_ptr<Module>> modules;
  std::vector<std::unique_ptr<Function>> functions;
};

// The one that the driver drives; made anew for each test.
FakeGpu& fake_gpu();
void reset_fake_gpu();

// As HIP's, or CUDA's.
Driver fake_driver(const std::string& vendor);

}  // namespace attest::gpu_driver

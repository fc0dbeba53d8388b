// What disturbs a kernel under test: kernels/disturb/disturb.hip on a device.
#pragma once
#include <string>

#include "harness/bench.hpp"
#include "harness/core/case.hpp"
#include "harness/core/device.hpp"

namespace attest {

// The first trouble sticks, as a Session's. It must go before the session beside it does.
class Disturber {
 public:
  Disturber(Device& device, Seed seed);
  void open(const std::string& folder);  // of disturb.TARGET.co or .cubin

  // Enqueues what runs before the next launch of stream 0, and on stream 1 what runs beside it:
  // another each time.
  void disturb(int launch);

  bool failed() const { return bench_.failed(); }
  const Trouble& trouble() const { return bench_.trouble(); }

 private:
  void fill_lds(std::uint64_t bits);
  void thrash_memory(std::uint64_t bits);
  void hold_compute_units(std::uint64_t bits);
  void launch(Function function, const LaunchConfig& config, const KernelArguments& arguments);

  Device& device_;
  Seed seed_;
  Bench bench_;
  Function memory_, lds_, time_;
  Buffer scratch_;
  std::uint32_t lds_bytes_ = 0, compute_units_ = 0;
};

}  // namespace attest

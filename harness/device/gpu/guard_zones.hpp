// The zones beside buffers, checked on the device: one launch and one copy for all of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/device/gpu/guard_arguments.hpp"
#include "harness/device/gpu/staging.hpp"
#include "harness/device/gpu/streams.hpp"

namespace attest::gpu_driver {

class GuardZones {
 public:
  GuardZones(Streams& streams, Staging& staging) : streams_(streams), staging_(staging) {}
  ~GuardZones();
  GuardZones(const GuardZones&) = delete;
  GuardZones& operator=(const GuardZones&) = delete;

  // Without a build of the kernel for `target` zones are copied to the host and checked there.
  Outcome open(const std::string& target);
  // Of each zone.
  Result<std::vector<GuardFinding>> check(std::span<const GuardZone> zones);

 private:
  Outcome make_room(std::size_t zones);
  Outcome launch(std::size_t zones);
  Result<std::vector<GuardFinding>> check_on_host(std::span<const GuardZone> zones);

  Streams& streams_;
  Staging& staging_;
  void *module_ = nullptr, *kernel_ = nullptr;
  std::size_t room_ = 0;  // for so many zones
  Address zones_ = 0, findings_ = 0;
};

// The kernel's code object for a device's target; empty: it was not built for it.
std::span<const unsigned char> guard_image(const std::string& target);

}  // namespace attest::gpu_driver

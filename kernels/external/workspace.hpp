// Workspace: the buffers that a launcher makes for itself. They go with all of the device's memory
// when the case ends. The first trouble sticks.
#pragma once
#include <span>
#include <string>

#include "harness/core/device.hpp"
#include "harness/core/poison.hpp"

namespace attest::external {

class Workspace {
 public:
  explicit Workspace(Device& device) : device_(device) {}

  Buffer fresh(const std::string& label, std::size_t bytes) {
    if (!outcome_.ok()) return {};
    const Result<Buffer> buffer = device_.allocate(label, bytes, kPoison16);
    if (!buffer.ok()) outcome_ = buffer.trouble();
    return buffer.ok() ? *buffer : Buffer{};
  }
  template <class T>
  Buffer filled(const std::string& label, std::span<const T> values) {
    const auto bytes = std::as_bytes(values);
    const Buffer buffer = fresh(label, bytes.size());
    if (outcome_.ok() && !bytes.empty()) outcome_ = device_.write(buffer, 0, bytes);
    return buffer;
  }
  const Outcome& outcome() const { return outcome_; }

 private:
  Device& device_;
  Outcome outcome_ = Done{};
};

}  // namespace attest::external

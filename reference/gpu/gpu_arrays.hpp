// Arrays on a device that are kept from case to case, and launches on them. The first trouble
// stays: all calls after it do nothing, and outcome() is that trouble.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/device.hpp"

namespace attest {

class GpuArrays {
 public:
  static std::string code_object(std::string_view target);
  // Trouble kInfra: there is no build of reference_sums for the device.
  static Result<GpuArrays> make(std::unique_ptr<Device> device, const std::string& code_objects);

  std::string name() const { return device_->name(); }
  void start() {
    outcome_ = Done{};
    busy_ms_ = 0;
  }
  const Outcome& outcome() const { return outcome_; }
  double busy_ms() const { return busy_ms_; }  // of launches since start()

  // The address of an array of so many bytes, by its label: the same as before where that is large
  // enough. What it held is lost where it is not.
  void need(const std::string& label, std::size_t bytes, std::uint64_t& address);
  void write(std::uint64_t address, std::size_t offset, std::span<const std::byte> from);
  template <class Span>
  void upload(const std::string& label, const Span& from, std::uint64_t& address) {
    const auto bytes = std::as_bytes(from);
    need(label, bytes.size(), address);
    write(address, 0, bytes);
  }
  // From element `first` on.
  template <class Span>
  void download(std::uint64_t address, const Span& to, std::size_t first = 0) {
    const auto bytes = std::as_writable_bytes(to);
    read(address, first * sizeof(typename Span::element_type), bytes);
  }
  template <class... Arguments>
  void launch(const char* kernel, std::size_t groups_x, int groups_y,
              const Arguments&... arguments) {
    KernelArguments packed;
    (packed.add(arguments), ...);
    launch_packed(kernel, groups_x, groups_y, packed);
  }

 private:
  GpuArrays(std::unique_ptr<Device> device, Module module)
      : device_(std::move(device)), module_(module) {}
  void read(std::uint64_t address, std::size_t offset, std::span<std::byte> to);
  void launch_packed(const char* kernel, std::size_t groups_x, int groups_y,
                     const KernelArguments& arguments);
  void note(const Outcome& outcome);

  std::unique_ptr<Device> device_;
  Module module_;
  std::map<std::string, Function> functions_;
  std::map<std::string, Buffer> buffers_;  // by label
  std::map<std::uint64_t, Buffer> by_address_;
  Outcome outcome_ = Done{};
  double busy_ms_ = 0;
};

}  // namespace attest

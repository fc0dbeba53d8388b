// For the tests of GPU devices: a device with the planted kernels, and what is done with them.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/code_object_file.hpp"
#include "harness/core/device.hpp"

namespace attest::gpu_driver {

using Words = std::vector<std::uint32_t>;
inline constexpr std::uint16_t kFill = 0x7fdb;

class PlantedKernels {
 public:
  explicit PlantedKernels(std::unique_ptr<Device> device) : device_(std::move(device)) {
    const auto module = device_->load_module(std::string(ATTEST_CODE_OBJECT_DIR) + "/" +
                                             code_object_file("gpu_planted", device_->target()));
    EXPECT_TRUE(module.ok()) << module.trouble().text;
    if (module.ok()) module_ = *module;
  }
  Device& device() { return *device_; }
  Module module() const { return module_; }

  Buffer buffer(const std::string& label, std::size_t bytes) {
    const auto made = device_->allocate(label, bytes, kFill);
    EXPECT_TRUE(made.ok()) << made.trouble().text;
    return made.ok() ? *made : Buffer{};
  }
  Buffer words(const Words& values) {
    const Buffer made = buffer("words", values.size() * 4);
    write(made, values);
    return made;
  }
  void write(const Buffer& to, const Words& values) {
    const Outcome o = device_->write(to, 0, std::as_bytes(std::span{values}));
    EXPECT_TRUE(o.ok()) << o.trouble().text;
  }
  Words read(const Buffer& from) {
    Words values(from.bytes / 4);
    const Outcome o = device_->read(from, 0, std::as_writable_bytes(std::span{values}));
    EXPECT_TRUE(o.ok()) << o.trouble().text;
    return values;
  }

  Outcome try_launch(const std::string& name, const KernelArguments& arguments,
                     const LaunchConfig& config = {{1}, {64}, 0}) {
    const auto function = device_->function(module_, name);
    if (!function.ok()) return function.trouble();
    return device_->launch(*function, config, arguments);
  }
  void launch(const std::string& name, const KernelArguments& arguments,
              const LaunchConfig& config = {{1}, {64}, 0}) {
    const Outcome o = try_launch(name, arguments, config);
    EXPECT_TRUE(o.ok()) << o.trouble().text;
  }
  void synchronize() {
    const Outcome o = device_->synchronize();
    EXPECT_TRUE(o.ok()) << o.trouble().text;
  }
  void write_byte(const Buffer& base, std::int64_t offset, std::uint32_t value) {
    launch("write_byte", KernelArguments().add(base.address).add(offset).add(value));
  }
  void append(const Buffer& log, std::uint32_t value) {
    launch("append", KernelArguments().add(log.address).add(value));
  }

 private:
  std::unique_ptr<Device> device_;
  Module module_;
};

}  // namespace attest::gpu_driver

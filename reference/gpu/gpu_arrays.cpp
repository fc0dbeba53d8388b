#include "reference/gpu/gpu_arrays.hpp"

#include <chrono>
#include <utility>

#include "harness/core/code_object_file.hpp"
#include "reference/gpu/layout.hpp"

namespace attest {

std::string GpuArrays::code_object(std::string_view target) {
  return code_object_file("reference_sums", target);
}

Result<GpuArrays> GpuArrays::make(std::unique_ptr<Device> device, const std::string& code_objects) {
  const auto module = device->load_module(code_objects + "/" + code_object(device->target()));
  if (!module.ok()) {
    return Trouble{TroubleKind::kInfra, "the reference on " + device->name() + ": " +
                                            module.trouble().text + "; --reference cpu needs none"};
  }
  return GpuArrays(std::move(device), *module);
}

void GpuArrays::note(const Outcome& outcome) {
  if (outcome.ok() || !outcome_.ok()) return;
  // Whatever it is, it is no fault of a kernel under test.
  outcome_ =
      Trouble{TroubleKind::kInfra, "the reference on " + name() + ": " + outcome.trouble().text +
                                       "; --reference cpu does without"};
}

void GpuArrays::need(const std::string& label, std::size_t bytes, std::uint64_t& address) {
  address = 0;
  if (!outcome_.ok() || bytes == 0) return;
  Buffer& buffer = buffers_[label];
  if (buffer.bytes < bytes) {
    if (buffer.bytes > 0) {
      by_address_.erase(buffer.address);
      device_->release(buffer);
      buffer = {};
    }
    const auto made = device_->allocate(label, bytes, 0);
    if (!made.ok()) return note(made.trouble());
    buffer = *made;
    by_address_[buffer.address] = buffer;
  }
  address = buffer.address;
}

void GpuArrays::write(std::uint64_t address, std::size_t offset, std::span<const std::byte> from) {
  if (!outcome_.ok() || from.empty()) return;
  note(device_->write(by_address_.at(address), offset, from));
}

void GpuArrays::read(std::uint64_t address, std::size_t offset, std::span<std::byte> to) {
  if (!outcome_.ok() || to.empty()) return;
  note(device_->read(by_address_.at(address), offset, to));
}

void GpuArrays::launch_packed(const char* kernel, std::size_t groups_x, int groups_y,
                              const KernelArguments& arguments) {
  if (!outcome_.ok() || groups_x == 0) return;
  auto found = functions_.find(kernel);
  if (found == functions_.end()) {
    const auto function = device_->function(module_, kernel);
    if (!function.ok()) return note(function.trouble());
    found = functions_.emplace(kernel, *function).first;
  }
  const auto begin = std::chrono::steady_clock::now();
  const LaunchConfig config{
      .grid = {static_cast<std::uint32_t>(groups_x), static_cast<std::uint32_t>(groups_y), 1},
      .block = {kGpuThreads, 1, 1}};
  note(device_->launch(found->second, config, arguments));
  note(device_->synchronize());
  busy_ms_ +=
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace attest

// Bench: buffers on a device, with a host's eye on what became of them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/device.hpp"

namespace attest {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span{values});
}

// The first trouble sticks; later calls do nothing. Everything on the device is released at the
// end.
class Bench {
 public:
  Bench(Device& device, std::uint16_t poison) : device_(device), poison_(poison) {}
  ~Bench() { device_.release_all(); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void allocate(Buffer& buffer, const std::string& label, std::size_t bytes) {
    allocate(buffer, label, bytes, poison_);
  }
  void allocate(Buffer& buffer, const std::string& label, std::size_t bytes, std::uint16_t fill);
  void write(const Buffer& buffer, std::size_t offset, std::span<const std::byte> bytes);
  void fill_with_poison(const Buffer& buffer, Extent extent) { fill(buffer, extent, poison_); }
  void fill(const Buffer& buffer, Extent extent, std::uint16_t pattern);
  template <class T>
  void read(const Buffer& buffer, std::vector<T>& to) {
    to.resize(buffer.bytes / sizeof(T));
    if (!failed() && !to.empty()) {
      take(device_.read(buffer, 0, std::as_writable_bytes(std::span{to})));
    }
  }
  void take(const Outcome& outcome) {
    if (!outcome.ok()) fail(outcome.trouble());
  }
  void fail(const Trouble& trouble);
  bool failed() const { return !trouble_.text.empty(); }
  const Trouble& trouble() const { return trouble_; }

  std::vector<std::string> guard_damage();  // of each buffer whose guard zones changed
  // Empty when bytes [extent) of the buffer still equal `expected`, the whole of it.
  std::string change(const Buffer& buffer, const std::string& label, Extent extent,
                     std::span<const std::byte> expected);

 private:
  Device& device_;
  std::uint16_t poison_;
  Trouble trouble_;
  std::vector<std::pair<std::string, Buffer>> buffers_;
  std::vector<std::byte> chunk_;
};

}  // namespace attest

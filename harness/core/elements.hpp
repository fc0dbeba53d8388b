// Elements: where elements of q or of the cache are stored, and how: the one place that decodes
// them. Values are those of the codes; of an fp8 tensor its descale factor multiplies them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "harness/core/formats.hpp"
#include "harness/core/problem.hpp"

namespace attest {

class Elements {
 public:
  Elements() = default;
  Elements(const void* first, Storage storage)
      : first_(static_cast<const std::byte*>(first)), storage_(storage) {}

  Storage storage() const { return storage_; }
  const std::byte* address() const { return first_; }
  Elements operator+(std::int64_t elements) const {
    return {first_ + elements * bytes_of_element(storage_), storage_};
  }
  float operator[](std::int64_t i) const {  // exact
    const std::byte* const at = first_ + i * bytes_of_element(storage_);
    if (storage_ == Storage::kFp8) return fnuz_values()[std::to_integer<std::size_t>(*at)];
    std::uint16_t code = 0;
    std::memcpy(&code, at, sizeof code);
    return decode_bf16(code);
  }
  // The first `count`.
  void read(std::int64_t count, float* to) const {
    if (storage_ == Storage::kFp8) {
      const std::array<float, 256>& values = fnuz_values();
      for (std::int64_t i = 0; i < count; ++i) {
        to[i] = values[std::to_integer<std::size_t>(first_[i])];
      }
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      std::uint16_t code = 0;
      std::memcpy(&code, first_ + i * 2, sizeof code);
      to[i] = decode_bf16(code);
    }
  }

 private:
  const std::byte* first_ = nullptr;
  Storage storage_ = Storage::kBf16;
};

// Stores numbers that are drawn in bf16: as they are, or as fp8, each divided by the tensor's
// descale factor and rounded to the nearest code, ties to even; beyond 240 it saturates.
void store_elements(const std::uint16_t* drawn, std::int64_t count, Storage storage, float descale,
                    std::byte* to);

}  // namespace attest

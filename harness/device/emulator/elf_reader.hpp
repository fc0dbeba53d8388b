// Bounds-checked reading of an untrusted file, and the page-aligned memory that its segments go to.
#pragma once
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/trouble.hpp"

namespace attest::emulator {

// Anonymous pages: code addresses are then page aligned, as a driver's are.
class Image {
 public:
  Image() = default;
  explicit Image(std::size_t bytes) : bytes_(bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
  }
  ~Image() {
    if (data_) munmap(data_, bytes_);
  }
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  bool ok() const { return data_ != nullptr; }
  std::span<std::byte> bytes() const { return {data_, data_ ? bytes_ : 0}; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Reads structures of the untrusted file; a read outside of it is an error that names the byte.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string_view path) : file_(file), path_(path) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset, std::string_view what) {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) {
      fail(offset, fmt::format("the file ends inside {}", what));
      return std::nullopt;
    }
    T value;
    std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  std::optional<std::span<const std::byte>> bytes(std::uint64_t offset, std::uint64_t size,
                                                  std::string_view what) {
    if (offset > file_.size() || file_.size() - offset < size) {
      fail(offset, fmt::format("{} of {} bytes reaches past the end of the file ({} bytes)", what,
                               size, file_.size()));
      return std::nullopt;
    }
    return file_.subspan(offset, size);
  }
  void fail(std::uint64_t offset, std::string_view why) {
    if (!trouble_)
      trouble_ =
          Trouble{TroubleKind::kUsage,
                  fmt::format("{}: not a usable code object: byte {}: {}", path_, offset, why)};
  }
  bool failed() const { return trouble_.has_value(); }
  const Trouble& trouble() const { return *trouble_; }

 private:
  std::span<const std::byte> file_;
  std::string path_;
  std::optional<Trouble> trouble_;
};

}  // namespace attest::emulator

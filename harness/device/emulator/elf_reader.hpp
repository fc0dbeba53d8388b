// Bounds-checked reading of an untrusted file.
#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/trouble.hpp"

namespace attest::emulator {

// Reads structures of the file; a read outside of it is an error that names the byte. The first
// error is kept.
class Reader {
 public:
  Reader(std::span<const std::byte> file, std::string_view path) : file_(file), path_(path) {}

  template <class T>
  std::optional<T> at(std::uint64_t offset, std::string_view what) {
    if (offset > file_.size() || file_.size() - offset < sizeof(T)) {
      fail(offset, fmt::format("the file ends inside {} ({} bytes)", what, file_.size()));
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
  // Always false, for `return fail(...)`.
  bool fail(std::uint64_t offset, std::string_view why) {
    if (!trouble_) {
      trouble_ =
          Trouble{TroubleKind::kUsage,
                  fmt::format("{}: not a usable code object: byte {}: {}", path_, offset, why)};
    }
    return false;
  }
  std::size_t size() const { return file_.size(); }
  bool failed() const { return trouble_.has_value(); }
  const Trouble& trouble() const { return *trouble_; }

 private:
  std::span<const std::byte> file_;
  std::string path_;
  std::optional<Trouble> trouble_;
};

}  // namespace attest::emulator

// XXH3-128 of bytes: finds accidental change, and is no proof against a forger. The text is what
// `xxh128sum` and Python's xxhash.xxh3_128_hexdigest print.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attest {

class Digest {
 public:
  Digest();
  ~Digest();
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span{text})); }
  template <class T>
  void add(const std::vector<T>& values) {
    add(std::as_bytes(std::span{values}));
  }
  std::array<std::uint8_t, 16> bytes() const;  // as the text has them
  std::string text() const;                    // 32 hexadecimal digits

 private:
  struct State;
  std::unique_ptr<State> state_;
};

template <class T>
std::string digest_of(const T& values) {
  Digest digest;
  digest.add(values);
  return digest.text();
}

}  // namespace attest

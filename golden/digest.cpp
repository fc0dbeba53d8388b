#include "golden/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>  // all of it inline: CMakeLists.txt

#include <algorithm>

namespace attest {

struct Digest::State {
  XXH3_state_t xxh;
};

Digest::Digest() : state_(std::make_unique<State>()) { XXH3_128bits_reset(&state_->xxh); }
Digest::~Digest() = default;

void Digest::add(std::span<const std::byte> bytes) {
  XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
}

std::array<std::uint8_t, 16> Digest::bytes() const {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state_->xxh));
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(canonical.digest, bytes.size(), bytes.begin());
  return bytes;
}

std::string Digest::text() const {
  std::string text;
  for (const std::uint8_t byte : bytes()) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace attest

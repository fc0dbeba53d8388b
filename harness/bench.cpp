#include "harness/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace attest {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

}  // namespace

void Bench::allocate(Buffer& buffer, const std::string& label, std::size_t bytes,
                     std::uint16_t fill) {
  if (failed() || bytes == 0) return;
  auto made = device_.allocate(label, bytes, fill);
  if (!made.ok()) return fail(made.trouble());
  buffer = *made;
  buffers_.emplace_back(label, buffer);
}

void Bench::write(const Buffer& buffer, std::size_t offset, std::span<const std::byte> bytes) {
  if (!failed() && !bytes.empty()) take(device_.write(buffer, offset, bytes));
}

void Bench::fill(const Buffer& buffer, Extent extent, std::uint16_t pattern) {
  const std::size_t bytes = extent.end - extent.begin;
  const std::vector<std::uint16_t> filled(std::min(kChunk, bytes) / 2, pattern);
  for (std::size_t at = 0; at < bytes; at += kChunk) {
    write(buffer, extent.begin + at, bytes_of(filled).first(std::min(kChunk, bytes - at)));
  }
}

void Bench::fail(const Trouble& trouble) {
  if (!failed()) trouble_ = trouble;
  if (!failed()) trouble_.text = "the device gave no reason";
}

std::vector<std::string> Bench::guard_damage() {
  std::vector<std::string> damage;
  for (const auto& [label, buffer] : buffers_) {
    const std::string text = device_.guard_damage(buffer);
    if (!text.empty()) damage.push_back(fmt::format("wrote outside {}: {}", label, text));
  }
  return damage;
}

std::string Bench::change(const Buffer& buffer, const std::string& label, Extent extent,
                          std::span<const std::byte> expected) {
  chunk_.resize(kChunk);
  for (std::size_t at = extent.begin; at < extent.end && !failed(); at += kChunk) {
    const std::span<std::byte> now = std::span{chunk_}.first(std::min(kChunk, extent.end - at));
    take(device_.read(buffer, at, now));
    const auto before = expected.subspan(at, now.size());
    // std::mismatch goes byte by byte; a GPU's inputs are compared after each of many replays.
    if (std::memcmp(now.data(), before.data(), now.size()) == 0) continue;
    const auto first = std::mismatch(now.begin(), now.end(), before.begin()).first;
    if (!failed() && first != now.end()) {
      return fmt::format("changed its input {} at byte {}", label, at + (first - now.begin()));
    }
  }
  return {};
}

}  // namespace attest

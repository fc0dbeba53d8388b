#include "harness/core/inputs.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/core/poison.hpp"

namespace attest {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// At the address `at`, or at any when that is 0.
void* map_anonymous(std::uintptr_t at, std::size_t bytes, int protection, int extra_flags) {
  const int place = at ? MAP_FIXED_NOREPLACE : 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is what the caller has.
  return mmap(reinterpret_cast<void*>(at), bytes, protection,
              MAP_PRIVATE | MAP_ANONYMOUS | place | extra_flags, -1, 0);
}

// A memory file of one chunk that holds the pattern; -1 when there is none to be had.
int open_pattern(std::uint16_t fill) {
  const int file = memfd_create("attest-poison", MFD_CLOEXEC);
  if (file < 0) return -1;
  if (ftruncate(file, kChunkBytes) == 0) {
    void* page = mmap(nullptr, kChunkBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (page != MAP_FAILED) {
      std::fill_n(static_cast<std::uint16_t*>(page), kChunkBytes / sizeof fill, fill);
      munmap(page, kChunkBytes);
      return file;
    }
  }
  close(file);
  return -1;
}

void* map_eager(std::uintptr_t at, std::size_t bytes, std::uint16_t fill) {
  void* address = map_anonymous(at, bytes, PROT_READ | PROT_WRITE, 0);
  if (address != MAP_FAILED) {
    std::fill_n(static_cast<std::uint16_t*>(address), bytes / sizeof fill, fill);
  }
  return address;
}

void* map_lazy(std::uintptr_t at, std::size_t bytes, std::uint16_t fill) {
  const int file = open_pattern(fill);
  if (file < 0) return MAP_FAILED;
  void* address = map_anonymous(at, bytes, PROT_NONE, MAP_NORESERVE);
  for (std::size_t done = 0; address != MAP_FAILED && done < bytes; done += kChunkBytes) {
    void* chunk = mmap(static_cast<std::byte*>(address) + done, kChunkBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file, 0);
    if (chunk == MAP_FAILED) {
      munmap(address, bytes);
      address = MAP_FAILED;
    }
  }
  close(file);
  return address;
}

}  // namespace

Result<PoisonedMemory> PoisonedMemory::make(std::size_t bytes, std::uint16_t fill,
                                            std::uintptr_t at) {
  PoisonedMemory memory;
  if (bytes == 0) return memory;
  const bool lazy = bytes > kLazyBytes;
  const std::size_t mapped_bytes = round_up(bytes, lazy ? kChunkBytes : 4096);
  void* address = lazy ? map_lazy(at, mapped_bytes, fill) : map_eager(at, mapped_bytes, fill);
  if (address == MAP_FAILED) {
    return Trouble{TroubleKind::kInfra, fmt::format("no memory on the host for {} bytes: {}", bytes,
                                                    std::strerror(errno))};
  }
  memory.address_ = address;
  memory.bytes_ = bytes;
  memory.mapped_bytes_ = mapped_bytes;
  return memory;
}

Outcome make_rows(const Problem& p, std::int64_t query_tokens, std::int64_t num_pages,
                  std::uint16_t poison, Inputs& inputs) {
  auto q = PoisonedMemory::make(query_tokens * p.q_stride_t() * bytes_of_element(p.q_type),
                                poison_of(p.q_type, poison));
  if (!q.ok()) return q.trouble();
  auto kv = PoisonedMemory::make(num_pages * p.page_size * kDQk * bytes_of_element(p.kv_type),
                                 poison_of(p.kv_type, poison));
  if (!kv.ok()) return kv.trouble();
  inputs.q = std::move(*q);
  inputs.kv = std::move(*kv);
  inputs.q_type = p.q_type;
  inputs.kv_type = p.kv_type;
  inputs.num_pages = num_pages;
  if (p.q_type == Storage::kFp8) inputs.q_scale = {p.q_scale};
  if (p.kv_type == Storage::kFp8) inputs.kv_scale = {p.kv_scale};
  return Done{};
}

PoisonedMemory::PoisonedMemory(PoisonedMemory&& other) noexcept
    : address_(std::exchange(other.address_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

PoisonedMemory& PoisonedMemory::operator=(PoisonedMemory&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  return *this;
}

PoisonedMemory::~PoisonedMemory() {
  if (address_ != nullptr) munmap(address_, mapped_bytes_);
}

}  // namespace attest

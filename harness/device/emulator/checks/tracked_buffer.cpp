#include "harness/device/emulator/checks/tracked_buffer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace attest::emulator {
namespace {

// Of a scalar load's dwords the first that may lie outside what the program reads. The compiler
// widens a uniform load up to its alignment: 3 dwords to 4, 5 to 8. Source: LLVM,
// AMDGPULegalizerInfo.cpp, shouldWidenLoad.
int first_spare_dword(u64 address, int bytes) {
  const int dwords = bytes / 4;
  const bool widened =
      std::has_single_bit(static_cast<u32>(bytes)) &&  // else cut off by a resource
      address % static_cast<u64>(bytes) == 0;
  return widened ? dwords / 2 + 1 : dwords;
}

// Whether no byte of a dword is set.
bool none_set(const GranuleBits& bits, std::size_t buffer_bytes, std::size_t offset) {
  bool any = false;
  for (std::size_t b = offset, end = b + 4; b < end; ++b) any |= b < buffer_bytes && bits.all(b, 1);
  return !any;
}

// Whether a scalar load has a dword that the program reads and of which no byte is set: it also
// widens a load of a byte or a short to one of a dword. Source: LLVM, AMDGPUCodeGenPrepare.cpp,
// "widen-constant-loads".
bool scalar_misses(const GranuleBits& bits, std::size_t buffer_bytes, u64 address, u64 begin,
                   int bytes) {
  const std::size_t offset = address - begin;
  if (bits.all(offset, bytes)) return false;
  const int needed = first_spare_dword(address, bytes);
  for (int d = 0; d < needed; ++d) {
    if (none_set(bits, buffer_bytes, offset + 4 * static_cast<std::size_t>(d))) return true;
  }
  return false;
}

bool before(const std::unique_ptr<TrackedBuffer>& a, u64 address) { return a->begin < address; }

}  // namespace

void TrackedBuffer::describe(BufferUse to) {
  for (Extent& e : to.extents) e = {std::min(e.begin, bytes), std::min(e.end, bytes)};
  if (to.extents != use.extents) tensor = {};
  use = std::move(to);
  described = true;
  if (use.unwritten) written.forget({0, bytes});
}

void TrackedBuffer::prepare(const CheckSet& on) {
  if (!described) return;
  const auto& extents = use.extents;
  const Extent whole{0, bytes};
  gaps =
      on.has(Check::kBounds) && !extents.empty() && !(extents.size() == 1 && extents[0] == whole);
  if (gaps && !tensor) {
    tensor = GranuleBits(bytes, granule_shift(extents, bytes));
    for (const Extent& e : extents) tensor.set(e);
  }
  guarded = on.has(Check::kBounds) && use.read_only;
  // Gaps that are reported as such need not be written.
  unwritten = on.has(Check::kUninitialised) && !written.covers(gaps ? extents : std::vector{whole});
  if (unwritten) written.begin_kernels();
  races = on.has(Check::kGlobalRace) && !use.read_only;
  described = false;
}

u64 TrackedBuffer::lanes_inside(const u64* at, u64 lanes) const {
  if (lanes & (lanes - 1)) {
    u64 inside = 0;
    for (int l = 0; l < kLanes; ++l) inside |= u64{holds(at[l])} << l;
    return inside & lanes;
  }
  return holds(at[std::countr_zero(lanes)]) ? lanes : 0;
}

u64 TrackedBuffer::outside_tensor(const u64* at, const Access& access) const {
  if (access.scalar) return scalar_misses(tensor, bytes, at[0], begin, access.bytes) ? 1 : 0;
  return tensor.holes(at, access.lanes, begin, access.bytes);
}

u64 TrackedBuffer::reads_unwritten(const u64* at, const Access& access) const {
  if (access.scalar) {
    return scalar_misses(written.bits(), bytes, at[0], begin, access.bytes) ? 1 : 0;
  }
  return written.bits().holes(at, access.lanes, begin, access.bytes);
}

u64 TrackedBuffer::dword_unwritten(const u64* at, const Access& access, int dword) const {
  const u64 first = begin - 4 * static_cast<u64>(dword);  // modulo 2^64
  if (!access.scalar)
    return written.bits().holes(at, access.lanes, first, std::min(4, access.bytes - 4 * dword));
  // A dword that the program does not need reaches nothing.
  return none_set(written.bits(), bytes, at[0] - first) ? 1 : 0;
}

std::string TrackedBuffer::nearest_extent(std::size_t offset) const {
  const auto distance = [offset](const Extent& e) {
    return offset < e.begin ? e.begin - offset : offset >= e.end ? offset - e.end + 1 : 0;
  };
  const auto nearest =
      std::min_element(use.extents.begin(), use.extents.end(),
                       [&](const Extent& a, const Extent& b) { return distance(a) < distance(b); });
  return fmt::format("nearest: bytes {} to {}", nearest->begin, nearest->end);
}

TrackedBuffer& TrackedBuffers::add(const Buffer& buffer, const std::string& label) {
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), buffer.address, before);
  return **sorted_.insert(at, std::make_unique<TrackedBuffer>(buffer, label));
}

void TrackedBuffers::remove(const Buffer& buffer) {
  std::erase_if(sorted_, [&](const auto& b) { return b->begin == buffer.address; });
}

TrackedBuffer* TrackedBuffers::at(u64 address) const {
  auto at = std::lower_bound(sorted_.begin(), sorted_.end(), address + 1, before);
  if (at == sorted_.begin()) return nullptr;
  --at;
  return (*at)->holds(address) ? at->get() : nullptr;
}

}  // namespace attest::emulator

#include "harness/device/emulator/checks/written_bytes.hpp"

#include <algorithm>

namespace attest::emulator {

void WrittenBytes::write(Extent extent) {
  if (extent.begin >= extent.end) return;
  if (bits_) bits_.set(extent);
  if (!extents_.empty() && merged_ && extent.begin >= extents_.back().begin &&
      extent.begin <= extents_.back().end) {
    extents_.back().end = std::max(extents_.back().end, extent.end);
    return;
  }
  merged_ = merged_ && (extents_.empty() || extent.begin > extents_.back().end);
  extents_.push_back(extent);
}

void WrittenBytes::forget(Extent extent) {
  if (bits_) bits_.clear(extent);
  std::vector<Extent> left;
  for (const Extent& e : extents_) {
    if (e.end <= extent.begin || e.begin >= extent.end) {
      left.push_back(e);
      continue;
    }
    if (e.begin < extent.begin) left.push_back({e.begin, extent.begin});
    if (e.end > extent.end) left.push_back({extent.end, e.end});
  }
  extents_ = std::move(left);
}

void WrittenBytes::merge() {
  if (merged_) return;
  merged_ = true;
  std::sort(extents_.begin(), extents_.end(),
            [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  std::vector<Extent> disjoint;
  for (const Extent& e : extents_) {
    if (disjoint.empty() || e.begin > disjoint.back().end) {
      disjoint.push_back(e);
    } else {
      disjoint.back().end = std::max(disjoint.back().end, e.end);
    }
  }
  extents_ = std::move(disjoint);
}

bool WrittenBytes::covers(std::span<const Extent> extents) {
  merge();
  const Extent whole{0, bytes_};
  if (extents.empty()) extents = std::span(&whole, 1);
  auto held = extents_.begin();
  return std::all_of(extents.begin(), extents.end(), [&](const Extent& e) {
    while (held != extents_.end() && held->end < e.end) ++held;
    return e.begin >= e.end || (held != extents_.end() && held->begin <= e.begin);
  });
}

void WrittenBytes::begin_kernels() {
  if (bits_) return;
  bits_ = GranuleBits(bytes_, 0);
  for (const Extent& e : extents_) bits_.set(e);
}

}  // namespace attest::emulator

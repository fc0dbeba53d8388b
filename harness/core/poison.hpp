// The poison: what memory holds that nobody wrote. As bf16 and, twice, as fp32 it is a NaN with a
// payload that no arithmetic makes (hardware's own NaNs are 0x7fc0.. and 0x7fff..); as a page id it
// is far outside every pool.
// In the fp8 of gfx942 (e4m3fnuz) the only NaN is 0x80: the bytes 0x7f and 0xdb are 240 and a
// negative number there, and so is 0xff. Where a tensor is fp8, what nobody wrote - pads, tails of
// pages, unused pages, and the guard zones round them - is 0x80 all over.
#pragma once
#include <cstdint>

#include "harness/core/problem.hpp"

namespace attest {

inline constexpr std::uint16_t kPoison16 = 0x7fdb;
inline constexpr std::uint32_t kPoison32 = 0x7fdb7fdb;
inline constexpr std::uint16_t kPoisonFp8 = 0x8080;
inline constexpr std::int32_t kHostilePage = 0x7fffffff;

// What a tensor of inputs is filled with where outputs and workspaces hold `poison`: a poison of
// numbers (of the property `poison`) stays as it is.
constexpr std::uint16_t poison_of(Storage storage, std::uint16_t poison) {
  return storage == Storage::kFp8 && poison == kPoison16 ? kPoisonFp8 : poison;
}

}  // namespace attest

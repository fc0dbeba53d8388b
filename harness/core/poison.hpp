// The poison: what memory holds that nobody wrote. As bf16 and, twice, as fp32 it is a NaN with a
// payload that no arithmetic makes (hardware's own NaNs are 0x7fc0.. and 0x7fff..); as a page id it
// is far outside every pool.
#pragma once
#include <cstdint>

namespace attest {

inline constexpr std::uint16_t kPoison16 = 0x7fdb;
inline constexpr std::uint32_t kPoison32 = 0x7fdb7fdb;
inline constexpr std::int32_t kHostilePage = 0x7fffffff;

}  // namespace attest

#include "harness/core/elements.hpp"

namespace attest {

void store_elements(const std::uint16_t* drawn, std::int64_t count, Storage storage, float descale,
                    std::byte* to) {
  if (storage == Storage::kBf16) {
    std::memcpy(to, drawn, count * sizeof *drawn);
    return;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = double{decode_bf16(drawn[i])} / descale;
    to[i] = std::byte{encode_fp8(value, Fp8::kE4m3fnuz)};
  }
}

}  // namespace attest

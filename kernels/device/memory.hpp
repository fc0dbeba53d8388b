// 16-byte accesses to global memory and LDS.
#pragma once
#include "kernels/device/bf16.hpp"
#include "kernels/device/gpu.hpp"

namespace gpu {

#if ATTEST_AMD
using Words4 = Bits32 __attribute__((ext_vector_type(4)));
ATTEST_INLINE Octet load_octet(const void* from) {
  return __builtin_bit_cast(Octet, *static_cast<const Words4*>(from));
}
ATTEST_INLINE void store_octet(void* to, const Octet& octet) {
  *static_cast<Words4*>(to) = __builtin_bit_cast(Words4, octet);
}
ATTEST_INLINE void store_quad(void* to, const Quad& quad) {
  *static_cast<Words4*>(to) = __builtin_bit_cast(Words4, quad);
}
#else
ATTEST_INLINE Octet load_octet(const void* from) {
  const uint4 words = *static_cast<const uint4*>(from);
  return {{words.x, words.y, words.z, words.w}};
}
ATTEST_INLINE void store_octet(void* to, const Octet& octet) {
  *static_cast<uint4*>(to) = make_uint4(octet.word[0], octet.word[1], octet.word[2], octet.word[3]);
}
ATTEST_INLINE void store_quad(void* to, const Quad& quad) {
  *static_cast<float4*>(to) =
      make_float4(quad.value[0], quad.value[1], quad.value[2], quad.value[3]);
}
#endif

// 8 consecutive columns of an output row, to `to + column`, as fp32 or rounded to bf16.
ATTEST_INLINE void store_columns(void* to, Int64 column, bool as_fp32, const float (&value)[8]) {
  if (as_fp32) {
    float* at = static_cast<float*>(to) + column;
    store_quad(at, {{value[0], value[1], value[2], value[3]}});
    store_quad(at + 4, {{value[4], value[5], value[6], value[7]}});
  } else {
    store_octet(static_cast<Bits16*>(to) + column,
                {{pack_bf16(value[0], value[1]), pack_bf16(value[2], value[3]),
                  pack_bf16(value[4], value[5]), pack_bf16(value[6], value[7])}});
  }
}

}  // namespace gpu

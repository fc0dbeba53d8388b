// The argument segment of aiter's MLA decode objects: each value in a slot of 16 bytes, in the
// order of KernelArgs in ROCm/aiter csrc/py_itfs_cu/asm_mla.cu:31-83.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "harness/core/device.hpp"

namespace attest::external {

struct AiterArguments {
  std::uint64_t partial_o = 0;    // R
  std::uint64_t partial_lse = 0;  // LSE
  std::uint64_t q = 0;
  std::uint64_t kv = 0;
  std::uint64_t kv_indptr = 0;         // LTP
  std::uint64_t kv_indices = 0;        // LTD
  std::uint64_t kv_last_page_len = 0;  // LTL
  float sm_scale = 0;                  // scalar
  std::uint32_t rows = 0;              // s_MQA: heads * query tokens
  std::uint32_t num_splits = 0;        // s_kv_split
  std::uint32_t q_bytes = 0;           // s_Q_Bs: of a sequence
  std::uint32_t page_bytes = 0;        // s_Bs
  std::uint32_t log2_page_size = 0;    // s_log2_plen
  std::uint64_t qo_indptr = 0;         // QTP
  std::uint64_t splits = 0;            // STP: split_indptr, or {work_indptr, work_info}
  std::uint64_t o = 0;                 // RP
  std::uint64_t q_scale = 0;           // QSCALE
  std::uint64_t kv_scale = 0;          // KVSCALE
  std::uint32_t bf16_nosplit = 0;      // out_16_nosplit
  std::uint64_t lse = 0;               // LSEP
  std::uint64_t global_kv_indptr = 0;  // GKVTP
  std::uint32_t cp_world_size = 1;
  std::uint32_t cp_rank = 0;
};

inline constexpr std::size_t kAiterSlotBytes = 16;
inline constexpr std::size_t kAiterSlots = 23;

inline KernelArguments pack(const AiterArguments& a) {
  std::array<std::byte, kAiterSlots* kAiterSlotBytes> bytes = {};
  std::size_t slot = 0;
  const auto put = [&](const auto&... values) {
    (std::memcpy(&bytes[slot++ * kAiterSlotBytes], &values, sizeof values), ...);
  };
  put(a.partial_o, a.partial_lse, a.q, a.kv, a.kv_indptr, a.kv_indices, a.kv_last_page_len,
      a.sm_scale, a.rows, a.num_splits, a.q_bytes, a.page_bytes, a.log2_page_size, a.qo_indptr,
      a.splits, a.o, a.q_scale, a.kv_scale, a.bf16_nosplit, a.lse, a.global_kv_indptr,
      a.cp_world_size, a.cp_rank);
  return KernelArguments::segment(bytes);
}

}  // namespace attest::external

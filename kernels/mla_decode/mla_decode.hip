// Dense paged MLA decode with split KV: contract.md says what it promises, launch.cpp how it is
// launched.
#include "kernels/device/arrival.hpp"
#include "kernels/device/gpu.hpp"
#if ATTEST_AMD
#include "kernels/mla_decode/stage1_cdna.hpp"
#else
#include "kernels/mla_decode/stage1_hopper.hpp"
#endif
#include "kernels/mla_decode/stage2.hpp"

namespace attest::mla_decode {

// Stage 1. Grid: {split, sequence} in either order, query token * head tiles + head tile. 256 threads;
// for 64 heads on Hopper 384.
#if ATTEST_AMD
extern "C" __global__ ATTEST_BOUNDS(kThreads, 2) void mla_decode_stage1_16(Stage1Arguments a) {
  gpu::arrive();
  __shared__ MergeBuffer buffer;
  const Program p = find_program<16>(a);
  if (!p.live) return;
  const int group = gpu::wave_index();
  OnlineSoftmax softmax;
  attend_16_heads(softmax, a, p, group);
  softmax.finish();
  merge_groups(softmax, buffer, a, p, group);
}

extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void mla_decode_stage1_64(Stage1Arguments a) {
  gpu::arrive();
  __shared__ Stage stage;
  const Program p = find_program<64>(a);
  if (!p.live) return;
  const int first_head = p.head_begin + 16 * gpu::wave_index();
  OnlineSoftmax softmax;
  attend_64_heads(softmax, stage.row, a, p, first_head);
  softmax.finish();
  store_64_heads(softmax, a, p, first_head);
}
#else
extern __shared__ __align__(1024) unsigned char shared[];  // kHopperLdsBytes

extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void mla_decode_stage1_16(Stage1Arguments a) {
  gpu::arrive();
  const Program p = find_program<16>(a);
  if (p.live) Attend16(*reinterpret_cast<Shared16*>(shared), a, p).run();
}

extern "C" __global__ ATTEST_BOUNDS(kHopperThreads64, 1) void mla_decode_stage1_64(Stage1Arguments a) {
  gpu::arrive();
  const Program p = find_program<64>(a);
  if (p.live) Attend64(*reinterpret_cast<Shared64*>(shared), a, p).run();
}
#endif

#if ATTEST_AMD
inline constexpr int kStage2Residents = 2;
#else
inline constexpr int kStage2Residents = 8;
#endif

// Stage 2. Grid: slice of the columns * h + head, query token, sequence; kLaneColumns columns a thread.
extern "C" __global__ ATTEST_BOUNDS(kDV / kLaneColumns, kStage2Residents) void mla_decode_stage2_fp32(Stage2Arguments a,
                                                                        int threads) {
  gpu::arrive();
  merge_splits<float>(a, threads);
}

extern "C" __global__ ATTEST_BOUNDS(kDV / kLaneColumns, kStage2Residents) void mla_decode_stage2_bf16(Stage2Arguments a,
                                                                        int threads) {
  gpu::arrive();
  merge_splits<gpu::Bits16>(a, threads);
}

}  // namespace attest::mla_decode

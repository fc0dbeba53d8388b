// Arguments of the two kernels, as the launcher writes them and the device reads them: one struct
// by value.
#pragma once
#include "kernels/device/device_pointer.hpp"

namespace attest::mla_decode {

inline constexpr int kDQk = 576;      // columns of Q and of a KV row: [latent 512 | RoPE 64]
inline constexpr int kDV = 512;       // columns of V and O: the latent part of the same row
inline constexpr int kThreads = 256;  // of a stage-1 workgroup
inline constexpr int kHopperThreads64 = 384;        // of one for 64 heads on sm_90
inline constexpr int kHopperLdsBytes = 227 * 1024;  // of it on sm_90: all that a workgroup can have
inline constexpr int kHopperLaneColumns = 4;        // of a thread of stage 2 on sm_90; elsewhere 1
inline constexpr int kMinSplitTokens = 64;          // no split but the last live one is shorter
inline constexpr int kMaxBlockS = 64;               // splits that stage 2 weighs at a time, at most

// Where the tokens of each sequence are.
struct Batch {
  DevicePointer<const int> qo_indptr;         // [b + 1] query tokens
  DevicePointer<const int> kv_indptr;         // [b + 1] entries of kv_indices
  DevicePointer<const int> kv_last_page_len;  // [b]
  int page_shift;                             // log2(page_size)
  int num_splits;
};

struct Stage1Arguments {
  Batch batch;
  DevicePointer<const unsigned short> q;    // [total_q, h, 576] bf16, strided
  DevicePointer<const unsigned short> kv;   // [pages, page_size, 576] bf16
  DevicePointer<const int> kv_indices;      // physical page ids
  DevicePointer<void> o;                    // [total_q, num_splits, h, 512] fp32 or bf16, strided
  DevicePointer<float> lse;                 // [total_q, num_splits, h] natural log, dense
  long long q_stride_token, q_stride_head;  // elements
  long long o_stride_token, o_stride_split, o_stride_head;  // elements
  float scale_log2;                                         // sm_scale * log2(e)
  int h;
  int split_major;  // splits on grid axis x and sequences on y, or the other way round
  int o_is_fp32;
};

struct Stage2Arguments {
  Batch batch;
  DevicePointer<const void> partial_o;      // [total_q, num_splits, h, 512] fp32 or bf16, dense
  DevicePointer<const float> partial_lse;   // [total_q, num_splits, h] natural log, dense
  DevicePointer<void> o;                    // [total_q, h, 512] bf16, strided
  DevicePointer<float> lse;                 // [total_q, h] natural log, dense
  long long o_stride_token, o_stride_head;  // elements
  int h;
  int block_s;  // splits weighed at a time: a power of two, at most kMaxBlockS
};

// Host and device agree on the layout.
static_assert(sizeof(Stage1Arguments) == 128 && sizeof(Stage2Arguments) == 88);

}  // namespace attest::mla_decode

// The device language of our kernels without HIP's headers or device libraries: attributes,
// indices, barriers, and the few instructions that both vendors have. One source compiles for AMD
// (clang -x hip -nogpuinc -nogpulib) and for NVIDIA (nvcc). Everything here is a compiler builtin
// or one instruction.
#pragma once

#if defined(__CUDACC__) && !defined(__HIP__)
#define ATTEST_NVIDIA 1
// Threads of a workgroup at most; workgroups of a multiprocessor at least, which share its 65,536
// registers.
#define ATTEST_BOUNDS(threads, residents) __launch_bounds__(threads, residents)
#else
#define ATTEST_AMD 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
// Threads of a workgroup at most; waves of a SIMD at least, which is what shares out its 512
// registers a lane. With 256 or fewer, accumulators are plain VGPRs, which need no moves to be
// rescaled (LLVM: SIMachineFunctionInfo).
#define ATTEST_BOUNDS(threads, residents) \
  __attribute__((amdgpu_flat_work_group_size(1, threads), amdgpu_waves_per_eu(residents)))
#endif
#define ATTEST_INLINE __device__ inline __attribute__((always_inline))

namespace gpu {

using Bits16 = unsigned short;  // a stored bf16
using Bits32 = unsigned int;
using Int64 = long long;

// 8 consecutive bf16 of a row: what one lane moves in one 16-byte access.
struct alignas(16) Octet {
  Bits32 word[4];
};

// 4 consecutive registers of a matrix accumulator.
struct alignas(16) Quad {
  float value[4];
};

inline constexpr float kLog2E = 1.44269504088896340736f;
inline constexpr float kLn2 = 0.69314718055994530942f;

#if ATTEST_AMD
inline constexpr int kWaveSize = 64;
ATTEST_INLINE int thread_index() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
ATTEST_INLINE int block_x() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
ATTEST_INLINE int block_y() { return static_cast<int>(__builtin_amdgcn_workgroup_id_y()); }
ATTEST_INLINE int block_z() { return static_cast<int>(__builtin_amdgcn_workgroup_id_z()); }
// As HIP's __syncthreads: LDS and global accesses before it are seen by the workgroup after it.
ATTEST_INLINE void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
// v_exp_f32, v_log_f32 (base 2), v_rcp_f32: 1 ulp each. CDNA3 ISA, "VOP1 instructions".
ATTEST_INLINE float exp2_fast(float x) { return __builtin_amdgcn_exp2f(x); }
ATTEST_INLINE float log2_fast(float x) { return __builtin_amdgcn_logf(x); }
ATTEST_INLINE float reciprocal(float x) { return __builtin_amdgcn_rcpf(x); }
ATTEST_INLINE bool wave_any(bool x) { return __builtin_amdgcn_ballot_w64(x) != 0; }
// The value that lane `from` holds; every lane of the wave is active.
ATTEST_INLINE Bits32 shuffle(Bits32 x, int from) {
  return static_cast<Bits32>(__builtin_amdgcn_ds_bpermute(from * 4, static_cast<int>(x)));
}
// As shuffle, `from` equal in all lanes.
ATTEST_INLINE float broadcast(float x, int from) {
  return __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, x), from));
}
// Tells the compiler that a value is equal in all lanes, which it cannot see for a wave's number.
ATTEST_INLINE int uniform(int x) { return __builtin_amdgcn_readfirstlane(x); }
// Bytes of the 8-byte value {high, low} picked by the 4 selectors, lowest first.
template <Bits32 kSelector>
ATTEST_INLINE Bits32 pick_bytes(Bits32 high, Bits32 low) {
  return __builtin_amdgcn_perm(high, low, kSelector);
}
ATTEST_INLINE Bits32 bits_of(float x) { return __builtin_bit_cast(Bits32, x); }
ATTEST_INLINE float float_of(Bits32 x) { return __builtin_bit_cast(float, x); }
ATTEST_INLINE float max_of(float a, float b) { return __builtin_fmaxf(a, b); }
#else
inline constexpr int kWaveSize = 32;
ATTEST_INLINE int thread_index() { return static_cast<int>(threadIdx.x); }
ATTEST_INLINE int block_x() { return static_cast<int>(blockIdx.x); }
ATTEST_INLINE int block_y() { return static_cast<int>(blockIdx.y); }
ATTEST_INLINE int block_z() { return static_cast<int>(blockIdx.z); }
ATTEST_INLINE int grid_x() { return static_cast<int>(gridDim.x); }
ATTEST_INLINE int grid_y() { return static_cast<int>(gridDim.y); }
ATTEST_INLINE int grid_z() { return static_cast<int>(gridDim.z); }
ATTEST_INLINE void barrier() { __syncthreads(); }
// ex2.approx.ftz: 2^-22 relative (PTX ISA, "Floating Point Instructions: ex2"); log2f: 1 ulp (CUDA
// C++ Programming Guide, "Mathematical Functions"), where lg2.approx would be 2^-22 absolute
// near 1.
ATTEST_INLINE float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
ATTEST_INLINE float log2_fast(float x) { return log2f(x); }
ATTEST_INLINE float reciprocal(float x) { return __frcp_rn(x); }
ATTEST_INLINE bool wave_any(bool x) { return __any_sync(0xffffffffu, x) != 0; }
ATTEST_INLINE Bits32 shuffle(Bits32 x, int from) { return __shfl_sync(0xffffffffu, x, from); }
ATTEST_INLINE float broadcast(float x, int from) { return __shfl_sync(0xffffffffu, x, from); }
ATTEST_INLINE int uniform(int x) { return __shfl_sync(0xffffffffu, x, 0); }
template <Bits32 kSelector>
ATTEST_INLINE Bits32 pick_bytes(Bits32 high, Bits32 low) {
  constexpr Bits32 kNibbles = (kSelector & 7) | (kSelector >> 8 & 7) << 4 |
                              (kSelector >> 16 & 7) << 8 | (kSelector >> 24 & 7) << 12;
  return __byte_perm(low, high, kNibbles);
}
ATTEST_INLINE Bits32 bits_of(float x) { return __float_as_uint(x); }
ATTEST_INLINE float float_of(Bits32 x) { return __uint_as_float(x); }
ATTEST_INLINE float max_of(float a, float b) { return fmaxf(a, b); }
#endif

ATTEST_INLINE float minus_infinity() { return float_of(0xff800000u); }
ATTEST_INLINE int min_of(int a, int b) { return a < b ? a : b; }
ATTEST_INLINE int max_of(int a, int b) { return a > b ? a : b; }
ATTEST_INLINE float shuffle(float x, int from) { return float_of(shuffle(bits_of(x), from)); }
ATTEST_INLINE int lane_index() { return thread_index() % kWaveSize; }
ATTEST_INLINE int wave_index() { return uniform(thread_index() / kWaveSize); }

}  // namespace gpu

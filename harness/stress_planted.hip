// For stress_race_test.cpp: a decode in plain fp32 whose last-arriving workgroup merges the splits
// of a row. One kernel does it right, the others have a race. Grid: {split, sequence, head}; one
// query token a sequence, at most kMostTokens tokens a split.
#include "kernels/device/arrival.hpp"
#include "kernels/device/bf16.hpp"

using gpu::Bits16;
using gpu::Bits32;

namespace {

constexpr int kThreads = 256, kDQk = 576, kDV = 512;
constexpr int kMostTokens = 1024, kMostRows = 4096, kMinSplitTokens = 64;

__device__ Bits32 arrived[kMostRows];  // workgroups of each row; 0 between launches
__device__ float summed_weights[kMostRows];
__device__ float summed_o[kMostRows * kDV];

#if ATTEST_AMD
ATTEST_INLINE void device_fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent"); }
template <class T>
ATTEST_INLINE T add_atomically(T* to, T value) {
  return __hip_atomic_fetch_add(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
#else
ATTEST_INLINE void device_fence() { __threadfence(); }
template <class T>
ATTEST_INLINE T add_atomically(T* to, T value) {
  return atomicAdd(to, value);
}
#endif

struct Scratch {
  float score[kMostTokens];
  bool last;
};

// As the launcher of stress_race_test.cpp lays it out.
struct Arguments {
  const int *kv_indptr, *kv_indices, *kv_last_page_len;
  const Bits16 *q, *kv;
  Bits16* o;
  float *lse, *partial_o, *partial_lse;
  int page_shift, num_splits, h;
  float scale_log2;
};

struct Work : Arguments {
  int split, sequence, head, row, s_kv, begin, end, live;

  ATTEST_INLINE explicit Work(const Arguments& arguments) : Arguments(arguments) {
    split = gpu::block_x();
    sequence = gpu::block_y();
    head = gpu::block_z();
    row = sequence * h + head;
    const int pages = kv_indptr[sequence + 1] - kv_indptr[sequence];
    s_kv = pages == 0 ? 0 : ((pages - 1) << page_shift) + kv_last_page_len[sequence];
    const int length = gpu::max_of(kMinSplitTokens, s_kv / num_splits);
    live = gpu::min_of((s_kv + length - 1) / length, num_splits);
    begin = split * length;
    end = split == num_splits - 1 ? s_kv : gpu::min_of(begin + length, s_kv);
  }
  ATTEST_INLINE bool is_live() const { return split < live; }
  ATTEST_INLINE const Bits16* token(int j) const {
    const int page = kv_indices[kv_indptr[sequence] + (j >> page_shift)];
    return kv +
           ((static_cast<gpu::Int64>(page) << page_shift) + (j & ((1 << page_shift) - 1))) * kDQk;
  }
  ATTEST_INLINE gpu::Int64 stored(int of_split) const {
    return (static_cast<gpu::Int64>(sequence) * num_splits + of_split) * h + head;
  }
  ATTEST_INLINE void store_o(int column, float value) const {
    o[static_cast<gpu::Int64>(row) * kDV + column] =
        static_cast<Bits16>(gpu::pack_bf16(value, 0.0f));
  }
};

struct Partial {
  float o[2] = {0, 0};  // of columns thread and thread + kThreads
  float lse_log2 = 0;
};

// In 8 chains, as a matrix unit would not be worse.
ATTEST_INLINE float dot(const Bits16* a, const Bits16* b) {
  float sum[8] = {};
  for (int d = 0; d < kDQk; d += 8) {
    for (int i = 0; i < 8; ++i) sum[i] += gpu::widen(a[d + i]) * gpu::widen(b[d + i]);
  }
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

ATTEST_INLINE Partial attend(const Work& w, Scratch& scratch) {
  const int thread = gpu::thread_index(), count = w.end - w.begin;
  const Bits16* q = w.q + static_cast<gpu::Int64>(w.row) * kDQk;
  for (int j = thread; j < count; j += kThreads) {
    scratch.score[j] = dot(q, w.token(w.begin + j)) * w.scale_log2;
  }
  gpu::barrier();
  float max = gpu::minus_infinity(), sum = 0;
  for (int j = 0; j < count; ++j) max = gpu::max_of(max, scratch.score[j]);
  Partial partial;
  for (int j = 0; j < count; ++j) {
    const float p = gpu::exp2_fast(scratch.score[j] - max);
    sum += p;
    const Bits16* v = w.token(w.begin + j);
    for (int i = 0; i < 2; ++i) partial.o[i] += p * gpu::widen(v[thread + i * kThreads]);
  }
  for (float& o : partial.o) o *= gpu::reciprocal(sum);
  partial.lse_log2 = max + gpu::log2_fast(sum);
  return partial;
}

ATTEST_INLINE void store(const Work& w, const Partial& partial) {
  const gpu::Int64 at = w.stored(w.split);
  for (int i = 0; i < 2; ++i) {
    w.partial_o[at * kDV + gpu::thread_index() + i * kThreads] = partial.o[i];
  }
  if (gpu::thread_index() == 0) w.partial_lse[at] = partial.lse_log2 * gpu::kLn2;
}

// Raises the row's counter. Whether this workgroup is the last to do so; all of it know.
ATTEST_INLINE bool is_last(const Work& w, Scratch& scratch) {
  if (gpu::thread_index() == 0) {
    scratch.last = add_atomically(&arrived[w.row], 1u) == static_cast<Bits32>(w.live) - 1;
  }
  gpu::barrier();
  return scratch.last;
}

ATTEST_INLINE void merge(const Work& w) {
  float max = gpu::minus_infinity(), sum = 0, o[2] = {0, 0};
  for (int s = 0; s < w.live; ++s) max = gpu::max_of(max, w.partial_lse[w.stored(s)]);
  for (int s = 0; s < w.live; ++s) {
    const float weight = gpu::exp2_fast((w.partial_lse[w.stored(s)] - max) * gpu::kLog2E);
    sum += weight;
    for (int i = 0; i < 2; ++i) {
      o[i] += weight * w.partial_o[w.stored(s) * kDV + gpu::thread_index() + i * kThreads];
    }
  }
  for (int i = 0; i < 2; ++i) {
    w.store_o(gpu::thread_index() + i * kThreads, o[i] * gpu::reciprocal(sum));
  }
  if (gpu::thread_index() == 0) {
    w.lse[w.row] = max + gpu::log2_fast(sum) * gpu::kLn2;
    arrived[w.row] = 0;
  }
}

}  // namespace

extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void planted_right(Arguments a) {
  __shared__ Scratch scratch;
  const Work w(a);
  if (!w.is_live()) return;
  store(w, attend(w, scratch));
  device_fence();  // of every thread's stores
  gpu::barrier();
  if (!is_last(w, scratch)) return;
  device_fence();
  merge(w);
}

// The counter is raised before the partial is stored.
extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void planted_early(Arguments a) {
  __shared__ Scratch scratch;
  const Work w(a);
  if (!w.is_live()) return;
  const Partial partial = attend(w, scratch);
  const bool last = is_last(w, scratch);
  store(w, partial);
  if (!last) return;
  device_fence();
  gpu::barrier();
  merge(w);
}

// Every workgroup adds its part to a sum: right within rounding, which depends on who comes first.
extern "C" __global__ ATTEST_BOUNDS(kThreads, 1) void planted_atomic_sum(Arguments a) {
  __shared__ Scratch scratch;
  const Work w(a);
  if (!w.is_live()) return;
  const Partial partial = attend(w, scratch);
  store(w, partial);
  const float base = gpu::log2_fast(static_cast<float>(w.s_kv));
  const float weight = gpu::exp2_fast(partial.lse_log2 - base);
  for (int i = 0; i < 2; ++i) {
    const int column = gpu::thread_index() + i * kThreads;
    add_atomically(&summed_o[w.row * kDV + column], weight * partial.o[i]);
  }
  if (gpu::thread_index() == 0) add_atomically(&summed_weights[w.row], weight);
  device_fence();
  gpu::barrier();
  if (!is_last(w, scratch)) return;
  device_fence();
  const float sum = add_atomically(&summed_weights[w.row], 0.0f);
  for (int i = 0; i < 2; ++i) {
    const int column = gpu::thread_index() + i * kThreads;
    float* const at = &summed_o[w.row * kDV + column];
    w.store_o(column, add_atomically(at, 0.0f) * gpu::reciprocal(sum));
    *at = 0;
  }
  gpu::barrier();  // all have read the weights
  if (gpu::thread_index() == 0) {
    w.lse[w.row] = (base + gpu::log2_fast(sum)) * gpu::kLn2;
    summed_weights[w.row] = 0;
    arrived[w.row] = 0;
  }
}

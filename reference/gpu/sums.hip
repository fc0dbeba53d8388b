// The two parts of reference() that take a time of tokens x rows x columns, on a device: scores,
// and sums of weights times V. One source for AMD and NVIDIA; no tensor cores, so that each sum has
// the order that score.cpp, weigh.cpp, accumulate.cpp and finish_split.cpp give it, and so their
// bits. Nothing here is shared with the kernels under test, not even their macros.
#include "reference/gpu/layout.hpp"

#if defined(__HIP__)
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define ATTEST_KERNEL(blocks) \
  extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(1, kGpuThreads))) void
#else
#define ATTEST_KERNEL(blocks) extern "C" __global__ __launch_bounds__(kGpuThreads, blocks) void
#endif

namespace attest {
namespace {

#if defined(__HIP__)
ATTEST_BOTH int thread() { return static_cast<int>(__builtin_amdgcn_workitem_id_x()); }
ATTEST_BOTH int block_x() { return static_cast<int>(__builtin_amdgcn_workgroup_id_x()); }
ATTEST_BOTH int block_y() { return static_cast<int>(__builtin_amdgcn_workgroup_id_y()); }
ATTEST_BOTH void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
ATTEST_BOTH float float_of(unsigned bits) { return __builtin_bit_cast(float, bits); }
ATTEST_BOTH double floor_of(double x) { return __builtin_floor(x); }
ATTEST_BOTH void add_one(unsigned* to) {
  __hip_atomic_fetch_add(to, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
// What was there; it is replaced where that is `expected`.
ATTEST_BOTH unsigned long exchange(unsigned long* at, unsigned long expected, unsigned long value) {
  __hip_atomic_compare_exchange_strong(at, &expected, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                       __HIP_MEMORY_SCOPE_AGENT);
  return expected;
}
#else
ATTEST_BOTH int thread() { return static_cast<int>(threadIdx.x); }
ATTEST_BOTH int block_x() { return static_cast<int>(blockIdx.x); }
ATTEST_BOTH int block_y() { return static_cast<int>(blockIdx.y); }
ATTEST_BOTH void barrier() { __syncthreads(); }
ATTEST_BOTH float float_of(unsigned bits) { return __uint_as_float(bits); }
ATTEST_BOTH double floor_of(double x) { return floor(x); }
ATTEST_BOTH void add_one(unsigned* to) { atomicAdd(to, 1u); }
ATTEST_BOTH unsigned long exchange(unsigned long* at, unsigned long expected, unsigned long value) {
  return atomicCAS(reinterpret_cast<unsigned long long*>(at), expected, value);
}
#endif

ATTEST_BOTH int min_of(int a, int b) { return a < b ? a : b; }
ATTEST_BOTH int clamp(int x, int low, int high) { return x < low ? low : min_of(x, high); }

// A chunk and what it belongs to.
struct Part {
  const GpuArguments& a;
  const GpuChunk& chunk;
  const GpuJob& job;
  const GpuSplit& split;
  int seen_by_all, end;  // tokens [begin, seen_by_all) are seen by all rows, those to `end` by some

  ATTEST_BOTH Part(const GpuArguments& arguments, int index)
      : a(arguments),
        chunk(arguments.chunks[index]),
        job(arguments.jobs[chunk.job]),
        split(arguments.splits[chunk.split]),
        seen_by_all(clamp(job.visible[0], chunk.begin, chunk.end)),
        end(clamp(job.visible[job.rows - 1], seen_by_all, chunk.end)) {}

  // Of a token's 16 rows in arrays by token.
  ATTEST_BOTH long at(int token) const { return (job.tokens_before + token) * kBlockRows; }
  // Of its row in kv.
  ATTEST_BOTH long place(int token) const {
    const long page = a.pages[job.first_page + (token >> a.page_shift)];
    return (page << a.page_shift) + (token & ((1 << a.page_shift) - 1));
  }
  ATTEST_BOTH float value(long place, int column) const {
    const long at = place * kKeyColumns + column;
    if (a.kv_is_fp8) return a.codes[static_cast<const unsigned char*>(a.kv)[at]];
    return float_of(unsigned{static_cast<const unsigned short*>(a.kv)[at]} << 16);
  }
};

struct alignas(16) Words4 {
  unsigned word[4];
};
struct alignas(8) Words2 {
  unsigned word[2];
};

// 8 columns from `column`, a multiple of 8.
ATTEST_BOTH void load_octet(const Part& p, long place, int column, float (&to)[8]) {
  const long at = place * kKeyColumns + column;
  if (p.a.kv_is_fp8) {
    const Words2 words =
        *reinterpret_cast<const Words2*>(static_cast<const unsigned char*>(p.a.kv) + at);
    for (int i = 0; i < 8; ++i) to[i] = p.a.codes[words.word[i / 4] >> i % 4 * 8 & 0xffu];
    return;
  }
  const Words4 words =
      *reinterpret_cast<const Words4*>(static_cast<const unsigned short*>(p.a.kv) + at);
  for (int i = 0; i < 4; ++i) {
    to[2 * i] = float_of(words.word[i] << 16);
    to[2 * i + 1] = float_of(words.word[i] & 0xffff0000u);
  }
}

constexpr int kSlice = 64;  // columns of q that are staged at once

struct Queries {
  alignas(16) double q[kSlice][kBlockRows];
  alignas(16) float size[kSlice][kBlockRows];
};

ATTEST_BOTH void stage_queries(const Part& p, int column, Queries& to) {
  const long from = (long{1} * p.chunk.job * kKeyColumns + column) * kBlockRows;
  barrier();
  for (int i = thread(); i < kSlice * kBlockRows; i += kGpuThreads) {
    const float q = p.a.q[from + i];
    to.q[i / kBlockRows][i % kBlockRows] = q;
    to.size[i / kBlockRows][i % kBlockRows] = magnitude(q);
  }
  barrier();
}

// score.cpp: a thread's token, and 16 rows.
template <bool kBounds>
ATTEST_BOTH void score(const GpuArguments& a, Queries& queries) {
  const Part p(a, block_x() / kGpuParts);
  const int first = p.chunk.begin + block_x() % kGpuParts * kGpuThreads;
  if (first >= p.chunk.end) return;
  const int token = first + thread();
  const long place = p.place(min_of(token, p.chunk.end - 1));
  double x[kBlockRows] = {};
  float spread[kBlockRows] = {}, norm[8] = {};
  for (int slice = 0; slice < kKeyColumns; slice += kSlice) {
    stage_queries(p, slice, queries);
    for (int octet = 0; octet < kSlice; octet += 8) {
      float k[8];
      load_octet(p, place, slice + octet, k);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const double key = k[i];
        const float size = magnitude(k[i]);
#pragma unroll
        for (int r = 0; r < kBlockRows; ++r) {
          x[r] = fused_multiply_add(key, queries.q[octet + i][r], x[r]);
          if (kBounds) {
            spread[r] = fused_multiply_add(size, queries.size[octet + i][r], spread[r]);
          }
        }
        if (kBounds && slice < kValueColumns) norm[i] += size;
      }
    }
  }
  if (token >= p.chunk.end) return;
  const double spread_scale = magnitude(a.scale) * kInflate;
  const long at = p.at(token);
#pragma unroll
  for (int r = 0; r < kBlockRows; ++r) {
    a.x[at + r] = a.scale * x[r];
    if (kBounds) a.spread[at + r] = static_cast<float>(spread_scale * spread[r]);
  }
  if (!kBounds) return;
  double sum = 0;
  for (int i = 0; i < 8; ++i) sum += norm[i];
  a.norm[at / kBlockRows] = sum;
}

constexpr int kSegments = kGpuThreads / kBlockRows;

struct Segments {
  double all[kSegments][kBlockRows], error[kSegments][kBlockRows];
  int token[kSegments][kBlockRows];
};

// The largest scores of a chunk: a segment of its tokens a thread, then all segments in order.
ATTEST_BOTH void largest_of_chunk(const Part& p, int index, Segments& segments) {
  const GpuArguments& a = p.a;
  const int r = thread() % kBlockRows, segment = thread() / kBlockRows;
  const int length = (p.chunk.end - p.chunk.begin + kSegments - 1) / kSegments;
  const int begin = p.chunk.begin + segment * length;
  const int end = min_of(min_of(begin + length, p.chunk.end), p.job.visible[r]);
  double all = kMinusInfinity, error = 0;
  int token = -1;
  for (int i = begin; i < end; ++i) {
    const double x = a.x[p.at(i) + r];
    token = x > all ? i : token;
    all = x > all ? x : all;
    if (!a.bounds) continue;
    error = larger(logit_error(p.split.errors, x, a.spread[p.at(i) + r]), error);
  }
  segments.all[segment][r] = all;
  segments.error[segment][r] = error;
  segments.token[segment][r] = token;
  barrier();
  if (segment > 0) return;
  for (int s = 1; s < kSegments; ++s) {
    token = segments.all[s][r] > all ? segments.token[s][r] : token;
    all = larger(segments.all[s][r], all);
    error = larger(segments.error[s][r], error);
  }
  GpuLargest& to = a.largest[index];
  to.all[r] = all;
  to.logit_error[r] = error;
  to.token[r] = token;
}

// keep_scores() of score.cpp.
ATTEST_BOTH void largest_of_tiles(const Part& p) {
  const GpuArguments& a = p.a;
  const int tiles = (p.chunk.end - p.chunk.begin + a.tile_tokens - 1) / a.tile_tokens;
  for (int i = thread(); i < tiles * kBlockRows; i += kGpuThreads) {
    const int r = i % kBlockRows;
    const int begin = p.chunk.begin + i / kBlockRows * a.tile_tokens;
    const int end = min_of(min_of(begin + a.tile_tokens, p.chunk.end), p.job.visible[r]);
    double max = kMinusInfinity, high = kMinusInfinity, high_p = kMinusInfinity;
    for (int token = begin; token < end; ++token) {
      const double x = a.x[p.at(token) + r];
      const double spread = a.spread[p.at(token) + r];
      const double above = x + logit_error(p.split.errors, x, spread);
      const double above_p = x + kLambda * square_root(logit_variance(p.split.errors, x, spread));
      max = larger(x, max);
      high = larger(above, high);
      high_p = larger(above_p, high_p);
    }
    GpuTile& to = a.tiles[p.chunk.first_tile + i / kBlockRows];
    to.max[r] = max;
    to.high[r] = high;
    to.high_p[r] = high_p;
  }
}

// repeats.cpp. Counts are exact, whatever the order.
// T2p: a table of open addressing a row. No score has the bits of a free slot: they are a NaN's
// that no product of floats gives.
constexpr unsigned long kFree = ~0ul;

struct Table {
  unsigned long* keys;
  unsigned* counts;
  int slots;

  ATTEST_BOTH Table(const Part& p, int r)
      : keys(p.a.keys + p.job.first_slot + long{r} * p.job.slots),
        counts(p.a.counts + p.job.first_slot + long{r} * p.job.slots),
        slots(p.job.slots) {}
  ATTEST_BOTH static unsigned long key(double x) {
    return static_cast<unsigned long>(bits_of(x + 0.0));
  }
  ATTEST_BOTH int first(unsigned long key) const {  // Fibonacci hashing
    return static_cast<int>((key ^ key >> 29) * 0x9e3779b97f4a7c15ul >> 32) & (slots - 1);
  }
  ATTEST_BOTH void add(unsigned long key) const {
    for (int at = first(key);; at = (at + 1) & (slots - 1)) {
      const unsigned long found = exchange(keys + at, kFree, key);
      if (found == kFree || found == key) return add_one(counts + at);
    }
  }
  ATTEST_BOTH unsigned count(unsigned long key) const {
    int at = first(key);
    while (keys[at] != key) at = (at + 1) & (slots - 1);
    return counts[at];
  }
};

// T1: bins of a row's scores, and as many of their differences from the max in force.
ATTEST_BOTH unsigned* bin_of(const Part& p, int r, bool difference, double x) {
  const double log2 = x / kLn2;
  const int bin = static_cast<int>((log2 - floor_of(log2)) * p.a.bins) % p.a.bins;
  return p.a.counts + (long{p.chunk.job} * kBlockRows + r) * 2 * p.a.bins + difference * p.a.bins +
         bin;
}

// Calls visit(token, row) for each token of the chunk that the row sees, each in one thread.
template <class Visit>
ATTEST_BOTH void each_seen(const Part& p, const Visit& visit) {
  for (int i = thread(); i < (p.end - p.chunk.begin) * kBlockRows; i += kGpuThreads) {
    const int token = p.chunk.begin + i / kBlockRows, r = i % kBlockRows;
    if (token < p.job.visible[r]) visit(token, r);
  }
}

ATTEST_BOTH double max_in_force(const Part& p, int token, int r) {
  return p.a.tiles[p.chunk.first_tile + (token - p.chunk.begin) / p.a.tile_tokens].max[r];
}

ATTEST_BOTH void add_to_counts(const GpuArguments& a) {
  const Part p(a, block_x());
  each_seen(p, [&](int token, int r) {
    const double x = a.x[p.at(token) + r];
    if (a.rules.declared) return Table(p, r).add(Table::key(x));
    add_one(bin_of(p, r, false, x));
    add_one(bin_of(p, r, true, x - max_in_force(p, token, r)));
  });
}

ATTEST_BOTH void look_up_counts(const GpuArguments& a) {
  const Part p(a, block_x());
  each_seen(p, [&](int token, int r) {
    const double x = a.x[p.at(token) + r];
    unsigned count = 0;
    if (a.rules.declared) {
      count = Table(p, r).count(Table::key(x));
    } else {
      count = larger(*bin_of(p, r, false, x), *bin_of(p, r, true, x - max_in_force(p, token, r)));
    }
    a.repeat[p.at(token) + r] = static_cast<float>(count);
  });
}

constexpr int kStep = kGpuThreads / kBlockRows;  // tokens that are weighed at once
constexpr int kLinearSlot = kRowSums, kExponentSlot = kRowSums + 1, kLogitSlot = kRowSums + 2;
constexpr int kSlots = kRowSums + 4;                              // the last: of the block's weight
constexpr int kOfThread = kSlots * kBlockRows / kGpuThreads + 1;  // sums that a thread adds to

using Slots = double[kSlots - 1][kGpuThreads];

// Whether tokens add to a slot: without bounds to l alone, without tiers to T0's.
template <bool kBounds, bool kTiers>
ATTEST_BOTH bool is_used(int slot) {
  if (slot == kL || (kBounds && kTiers)) return true;
  return kBounds && (slot <= kTopTheta || slot == kExponentSlot);
}

// Adds a step's tokens, in order, to the sums that this thread keeps.
struct KeptSums {
  double sum[kOfThread];
  float of_block = 0;

  ATTEST_BOTH KeptSums() {
    for (int k = 0; k < kOfThread; ++k) {
      const int slot = (thread() + k * kGpuThreads) / kBlockRows;
      sum[k] = slot == kLinearSlot     ? kNoLinear
               : slot == kExponentSlot ? kNoExponent
               : slot == kLogitSlot    ? -kMinusInfinity
                                       : 0.0;
    }
  }
  template <bool kBounds, bool kTiers>
  ATTEST_BOTH void add(const Slots& slots, int tokens, bool with_blocks) {
#pragma unroll
    for (int k = 0; k < kOfThread; ++k) {
      const int slot = (thread() + k * kGpuThreads) / kBlockRows, r = thread() % kBlockRows;
      if (slot == kSlots - 1 && with_blocks) {
        for (int t = 0; t < tokens; ++t)
          of_block += static_cast<float>(slots[kL][t * kBlockRows + r]);
      }
      if (slot >= kSlots - 1 || !is_used<kBounds, kTiers>(slot)) continue;
      for (int t = 0; t < tokens; ++t) {
        const double value = slots[slot][t * kBlockRows + r];
        const bool least = slot == kLinearSlot || slot == kLogitSlot;
        sum[k] = slot < kRowSums ? sum[k] + value
                 : least         ? smaller(value, sum[k])
                                 : larger(value, sum[k]);
      }
    }
  }
  // Of the value tile that ended.
  ATTEST_BOTH void store_block(const Part& p, int tile) {
    if ((thread() + (kOfThread - 1) * kGpuThreads) / kBlockRows == kSlots - 1) {
      p.a.block_weight[(p.chunk.first_value_tile + tile) * kBlockRows + thread() % kBlockRows] =
          of_block;
    }
    of_block = 0;
  }
  ATTEST_BOTH void store(const Part& p, int index) const {
    for (int k = 0; k < kOfThread; ++k) {
      const int at = thread() + k * kGpuThreads;
      if (at < kRowValues) p.a.row_sums[long{index} * kRowValues + at] = sum[k];
    }
  }
};
static_assert((kSlots - 1) * kBlockRows >= (kOfThread - 1) * kGpuThreads &&
              kSlots * kBlockRows <= kOfThread * kGpuThreads);  // where store_block() looks

// One token of one row; what it adds goes to the slots.
template <bool kTiers>
ATTEST_BOTH void weigh_token(const Part& p, Weigher<kTiers>& weigher, int token, int& tile,
                             Slots& slots) {
  const GpuArguments& a = p.a;
  const int r = thread() % kBlockRows;
  const long at = p.at(token) + r;
  double repeats = 0, norm = 0;
  if (kTiers) {
    const int of_token = (token - p.chunk.begin) / a.tile_tokens;
    if (of_token != tile) {
      const GpuTile& t = a.tiles[p.chunk.first_tile + of_token];
      weigher.enter_tile(t.max[r], t.high[r], t.high_p[r]);
      tile = of_token;
    }
    repeats = a.repeat[at];
    norm = a.norm[at / kBlockRows];
  }
  Weights made;
  weigher.clear();
  weigher.weigh(a.x[at], a.spread[at], repeats, norm, token, made);
  a.w[at] = made.w;
  const long singles = a.tokens * kBlockRows;
  a.single[at] = made.absolute[kAbsT0];
  if (kTiers) {
    a.single[singles * kAbsRigorous + at] = made.absolute[kAbsRigorous];
    a.single[singles * kAbsLinear + at] = made.absolute[kAbsLinear];
    for (int i = 0; i < kSignedSums; ++i)
      a.single[singles * (kAbsSums + i) + at] = made.with_sign[i];
    a.square[at] = made.square;
  }
  for (int i = 0; i < kRowSums; ++i) {
    if (is_used<true, kTiers>(i)) slots[i][thread()] = weigher.sum(i);
  }
  slots[kExponentSlot][thread()] = weigher.worst_exponent();
  if (kTiers) slots[kLinearSlot][thread()] = weigher.least_linear();
  if (kTiers) slots[kLogitSlot][thread()] = weigher.logit_min();
}

// weigh.cpp: 8 tokens at a time, a row of one a thread.
template <bool kBounds, bool kTiers>
ATTEST_BOTH void weigh(const GpuArguments& a, Slots& slots) {
  const Part p(a, block_x());
  const int r = thread() % kBlockRows;
  const RowFactors row = row_factors(p.split.errors, p.split.score[r], p.split.token[r],
                                     p.split.rescales[r], p.job.visible[r]);
  Weigher<kTiers> weigher(a.rules, p.split.errors, row);
  KeptSums kept;
  int tile = -1;
  for (int begin = p.chunk.begin; begin < p.chunk.end; begin += kStep) {
    const int tokens = clamp(p.end - begin, 0, kStep), token = begin + thread() / kBlockRows;
    if (token < p.end) {
      if (kBounds) {
        weigh_token<kTiers>(p, weigher, token, tile, slots);
      } else {
        const double w = plain_weight(row.max, row.visible, a.x[p.at(token) + r], token);
        a.w[p.at(token) + r] = w;
        slots[kL][thread()] = w;
      }
    }
    barrier();
    kept.template add<kBounds, kTiers>(slots, tokens, a.with_blocks);
    const int next = begin + kStep - p.chunk.begin;
    if (a.with_blocks && (next % kValueTile == 0 || begin + kStep >= p.chunk.end))
      kept.store_block(p, (next - 1) / kValueTile);
    barrier();
  }
  kept.store(p, block_x());
}

constexpr int kStaged = 32;  // tokens whose weights are staged at once; divides kValueTile

// Where the staged tokens' rows lie; after it, all threads may read what was staged.
ATTEST_BOTH void stage_places(const Part& p, int begin, int tokens, long (&places)[kStaged]) {
  if (thread() < tokens) places[thread()] = p.place(begin + thread());
}

// add_values_of_strip() and add_tail_token() of accumulate.cpp, of sum w v: a thread's column, and
// 16 rows. V's largest magnitudes too.
struct StagedWeights {
  alignas(16) double w[kStaged][kBlockRows];
  long places[kStaged];
};

ATTEST_BOTH void stage_weights(const Part& p, int begin, int tokens, StagedWeights& to) {
  barrier();
  const long from = p.at(begin);
  for (int i = thread(); i < tokens * kBlockRows; i += kGpuThreads)
    to.w[i / kBlockRows][i % kBlockRows] = p.a.w[from + i];
  stage_places(p, begin, tokens, to.places);
  barrier();
}

ATTEST_BOTH float finite_size(float v) {
  const float size = magnitude(v);
  return size < __builtin_huge_valf() ? size : 0.0f;
}

template <bool kBlocks>
ATTEST_BOTH void add_values(const GpuArguments& a, StagedWeights& staged) {
  const Part p(a, block_x());
  const int column = block_y() * kGpuThreads + thread();
  double o[kBlockRows] = {}, tile[kBlockRows] = {};
  float largest = 0;
  // With blocks also where no token is seen: their sums are 0.
  const int last = kBlocks ? p.chunk.end : p.seen_by_all;
  for (int begin = p.chunk.begin; begin < last; begin += kStaged) {
    const int tokens = clamp(p.seen_by_all - begin, 0, kStaged);
    stage_weights(p, begin, tokens, staged);
#pragma unroll 4
    for (int t = 0; t < tokens; ++t) {
      const float single = p.value(staged.places[t], column);
      const double v = single;
      largest = larger(finite_size(single), largest);
#pragma unroll
      for (int r = 0; r < kBlockRows; ++r) {
        double& sum = kBlocks ? tile[r] : o[r];
        sum = fused_multiply_add(staged.w[t][r], v, sum);
      }
    }
    const int next = begin + kStaged - p.chunk.begin;
    if (!kBlocks || (next % kValueTile != 0 && begin + kStaged < last)) continue;
    const long block = p.chunk.first_value_tile + (next - 1) / kValueTile;
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      o[r] += tile[r];
      a.blocks[block * kBlockValues + r * kValueColumns + column] =
          0.0f + static_cast<float>(tile[r]);
      tile[r] = 0;
    }
  }
  // Row by row: a token that a row does not see must not reach it even as 0 * NaN.
  for (int token = p.seen_by_all; token < p.end; ++token) {
    const float v = p.value(p.place(token), column);
    largest = larger(finite_size(v), largest);
    const long block = p.chunk.first_value_tile + (token - p.chunk.begin) / kValueTile;
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      if (r >= p.job.rows || token >= p.job.visible[r]) continue;
      const double add = a.w[p.at(token) + r] * v;
      o[r] += add;
      if (kBlocks)
        a.blocks[block * kBlockValues + r * kValueColumns + column] += static_cast<float>(add);
    }
  }
  const long to = long{1} * block_x() * kBlockValues + column;
#pragma unroll
  for (int r = 0; r < kBlockRows; ++r) a.o[to + r * kValueColumns] = o[r];
  a.largest_v[long{1} * block_x() * kValueColumns + column] = largest;
}

// The same of the other sums.
constexpr int kSingles = kAbsSums + kSignedSums;

template <bool kTiers>
struct StagedErrors {
  alignas(16) double square[kTiers ? kStaged : 1][kBlockRows];
  alignas(16) float single[kTiers ? kSingles : 1][kStaged][kBlockRows];
  long places[kStaged];
};

template <bool kTiers>
ATTEST_BOTH void stage_errors(const Part& p, int begin, int tokens, StagedErrors<kTiers>& to) {
  barrier();
  const long from = p.at(begin), singles = p.a.tokens * kBlockRows;
  for (int i = thread(); i < tokens * kBlockRows; i += kGpuThreads) {
    for (int k = 0; k < (kTiers ? kSingles : 1); ++k)
      to.single[k][i / kBlockRows][i % kBlockRows] = p.a.single[k * singles + from + i];
    if (kTiers) to.square[i / kBlockRows][i % kBlockRows] = p.a.square[from + i];
  }
  stage_places(p, begin, tokens, to.places);
  barrier();
}

template <bool kTiers>
ATTEST_BOTH void add_errors(const GpuArguments& a, StagedErrors<kTiers>& staged) {
  constexpr int kSums = kTiers ? kSingles : 1;
  const Part p(a, block_x());
  const int column = block_y() * kGpuThreads + thread();
  float single[kSums][kBlockRows] = {};
  double square[kBlockRows] = {};
  for (int begin = p.chunk.begin; begin < p.seen_by_all; begin += kStaged) {
    const int tokens = min_of(p.seen_by_all - begin, kStaged);
    stage_errors<kTiers>(p, begin, tokens, staged);
#pragma unroll 2
    for (int t = 0; t < tokens; ++t) {
      const float v = p.value(staged.places[t], column), size = magnitude(v);
      const double squared = double{v} * v;
#pragma unroll
      for (int r = 0; r < kBlockRows; ++r) {
#pragma unroll
        for (int k = 0; k < kSums; ++k) {
          single[k][r] =
              fused_multiply_add(staged.single[k][t][r], k < kAbsSums ? size : v, single[k][r]);
        }
        if (kTiers) square[r] = fused_multiply_add(staged.square[t][r], squared, square[r]);
      }
    }
  }
  const long singles = a.tokens * kBlockRows;
  for (int token = p.seen_by_all; token < p.end; ++token) {
    const float v = p.value(p.place(token), column), size = magnitude(v);
    const long at = p.at(token);
#pragma unroll
    for (int r = 0; r < kBlockRows; ++r) {
      if (r >= p.job.rows || token >= p.job.visible[r]) continue;
#pragma unroll
      for (int k = 0; k < kSums; ++k)
        single[k][r] += a.single[k * singles + at + r] * (k < kAbsSums ? size : v);
      if (kTiers) square[r] += a.square[at + r] * (double{size} * size);
    }
  }
  const long to = long{1} * block_x() * kBlockValues + column;
  const long of_sum = long{1} * a.num_chunks * kBlockValues;
#pragma unroll
  for (int r = 0; r < kBlockRows; ++r) {
#pragma unroll
    for (int k = 0; k < kSums; ++k) a.singles[k * of_sum + to + r * kValueColumns] = single[k][r];
    if (kTiers) a.squares[to + r * kValueColumns] = square[r];
  }
}

// score_row() of score_tests.cpp, of a value tile: a row's columns of one lane a thread.
ATTEST_BOTH void score_tile(const GpuArguments& a) {
  const Part p(a, block_x());
  if (p.chunk.begin + block_y() * kValueTile >= p.chunk.end) return;
  const int r = thread() / kScoreLanes, lane = thread() % kScoreLanes;
  const long tile = p.chunk.first_value_tile + block_y();
  const double scale = a.scales[p.chunk.split * kBlockRows + r], of_value = scale * a.unit;
  const double weight = scale * a.block_weight[tile * kBlockRows + r];
  const float* values = a.blocks + (tile * kBlockRows + r) * kValueColumns;
  const long row = (long{p.chunk.job} * kBlockRows + r) * kValueColumns;
  double along = 0, squared = 0;
  for (int d = lane; d < kValueColumns; d += kScoreLanes) {
    const double g = of_value * values[d] - weight * a.centre[row + d];
    along += a.over_variance[row + d] * g;
    squared += g * g * a.inverse[row + d];
  }
  double* to = a.lanes + (tile * kBlockRows + r) * 2 * kScoreLanes + lane;
  to[0] = along;
  to[kScoreLanes] = squared;
}
static_assert(kBlockRows * kScoreLanes == kGpuThreads);

// sum_chunks() of finish_split.cpp, of one column sum; a row of a split a workgroup's strip.
ATTEST_BOTH void add_chunks(const GpuArguments& a, int sum) {
  const int split = block_x(), i = block_y() * kGpuThreads + thread();
  const int first = a.splits[split].first_chunk, end = a.splits[split].end_chunk;
  const long of_sum = long{1} * a.num_chunks * kBlockValues;
  double total = 0;
  for (int chunk = first; chunk < end; ++chunk) {
    const long at = long{chunk} * kBlockValues + i;
    const double from = sum == kColumnO        ? a.o[at]
                        : sum == kColumnSquare ? a.squares[at]
                                               : a.singles[(sum - kColumnT0) * of_sum + at];
    total += a.unit * from;
  }
  a.of_splits[(long{1} * sum * a.num_splits + split) * kBlockValues + i] = total;
  if (sum != kColumnO || i >= kValueColumns) return;
  double largest = 0;
  for (int chunk = first; chunk < end; ++chunk)
    largest = larger(a.unit * a.largest_v[long{chunk} * kValueColumns + i], largest);
  a.largest_of_splits[long{split} * kValueColumns + i] = largest;
}

}  // namespace

// Grid: chunk * kGpuParts + part of its tokens.
ATTEST_KERNEL(4) reference_score_plain(GpuArguments a) {
  __shared__ Queries queries;
  score<false>(a, queries);
}
ATTEST_KERNEL(3) reference_score(GpuArguments a) {
  __shared__ Queries queries;
  score<true>(a, queries);
}
// Grid: chunks.
ATTEST_KERNEL(1) reference_largest(GpuArguments a) {
  __shared__ Segments segments;
  const Part p(a, block_x());
  if (a.bounds) largest_of_tiles(p);
  largest_of_chunk(p, block_x(), segments);
}
// Grid: slots / threads.
ATTEST_KERNEL(1) reference_clear_counts(GpuArguments a) {
  const long at = long{block_x()} * kGpuThreads + thread();
  if (at >= a.slots) return;
  a.counts[at] = 0;
  if (a.rules.declared) a.keys[at] = kFree;
}
// Grid: chunks, where nothing else is said.
ATTEST_KERNEL(1) reference_count(GpuArguments a) { add_to_counts(a); }
ATTEST_KERNEL(1) reference_repeat(GpuArguments a) { look_up_counts(a); }
ATTEST_KERNEL(1) reference_weigh_plain(GpuArguments a) {
  __shared__ Slots slots;
  weigh<false, false>(a, slots);
}
ATTEST_KERNEL(1) reference_weigh_t0(GpuArguments a) {
  __shared__ Slots slots;
  weigh<true, false>(a, slots);
}
ATTEST_KERNEL(4) reference_weigh(GpuArguments a) {
  __shared__ Slots slots;
  weigh<true, true>(a, slots);
}
// Grid: chunks, strips of columns.
ATTEST_KERNEL(4) reference_add_values(GpuArguments a) {
  __shared__ StagedWeights staged;
  add_values<false>(a, staged);
}
ATTEST_KERNEL(4) reference_add_blocks(GpuArguments a) {
  __shared__ StagedWeights staged;
  add_values<true>(a, staged);
}
ATTEST_KERNEL(4) reference_add_t0(GpuArguments a) {
  __shared__ StagedErrors<false> staged;
  add_errors<false>(a, staged);
}
ATTEST_KERNEL(2) reference_add_errors(GpuArguments a) {
  __shared__ StagedErrors<true> staged;
  add_errors<true>(a, staged);
}
// Grid: chunks, value tiles of a chunk.
ATTEST_KERNEL(1) reference_score_tiles(GpuArguments a) { score_tile(a); }
// Grid: splits, rows * strips of columns.
ATTEST_KERNEL(1) reference_add_chunks(GpuArguments a, int sum) { add_chunks(a, sum); }

}  // namespace attest

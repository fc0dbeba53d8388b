// Stage 1 on Hopper: 64 tokens at a time are staged in shared memory by asynchronous copies, which
// run ahead of the products, and every warp sees the same running max of a head.
//
//   16 heads   8 warps; scores: 8 tokens each; output: 64 columns each; mma.sync; 3 stages
//   64 heads   2 warpgroups; scores: all 64 x 64, in both; output: 256 columns each; wgmma; 2
//   stages,
//              which a third warpgroup fills
//
// A stage holds 9 panels of 64 columns, a panel 64 rows of 128 bytes, their 16-byte pieces swizzled
// as the tensor cores read them (hopper.hpp): piece ^ row % 8. V is the first 8 panels.
#pragma once
#include "kernels/device/arrival.hpp"
#include "kernels/device/hopper.hpp"
#include "kernels/mla_decode/stage1.hpp"

namespace attest::mla_decode {

inline constexpr int kRows = 64;           // of a stage: tokens, or heads of Q
inline constexpr int kPanels = kDQk / 64;  // of a stage
inline constexpr int kPanelBytes = kRows * 128;
inline constexpr int kStageBytes = kPanels * kPanelBytes;
inline constexpr int kWarps = kThreads / 32;
static_assert(kStageBytes == kRows * kDQk * 2);

// A query head's running max of score * log2(e), and the lane's part of the sum of its weights. A
// lane holds heads lane / 4 and 8 below of its warp's 16, and of a tile of scores the tokens 2 *
// (lane % 4) and the next of every 8.
struct Softmax {
  float max[2] = {gpu::minus_infinity(), gpu::minus_infinity()};
  float sum[2] = {};

  // Whether a max moves to `now`; `base`, `factor`: what weights are relative to, and what was
  // summed before is multiplied by.
  ATTEST_INLINE bool move(const float (&now)[2], float (&base)[2], float (&factor)[2]) {
    bool moved = false;
    for (int h = 0; h < 2; ++h) {
      // While every score is -inf, -inf - -inf would be NaN; the weights are 0 for any finite base.
      base[h] = now[h] == gpu::minus_infinity() ? 0.0f : now[h];
      factor[h] = gpu::exp2_fast(max[h] - base[h]);
      moved = moved || now[h] != max[h];
      max[h] = now[h];
      sum[h] *= factor[h];
    }
    return moved;
  }
};

ATTEST_INLINE float max_over_quad(float x) {
  x = gpu::max_of(x, gpu::shuffle(x, gpu::lane_index() ^ 1));
  return gpu::max_of(x, gpu::shuffle(x, gpu::lane_index() ^ 2));
}
ATTEST_INLINE float sum_over_quad(float x) {
  x += gpu::shuffle(x, gpu::lane_index() ^ 1);
  return x + gpu::shuffle(x, gpu::lane_index() ^ 2);
}

// score * scale in units of log2, -inf for an absent token. Rounded before the max is taken: a
// fused score - max could exceed 0.
ATTEST_INLINE float scaled_score(float score, float scale_log2, int token, int count) {
  return token < count ? __fmul_rn(score, scale_log2) : gpu::minus_infinity();
}

// Multiplies N / 4 accumulators of m16n8 by the factors of their heads.
template <int N>
ATTEST_INLINE void rescale(float (&o)[N], const float (&factor)[2]) {
#pragma unroll
  for (int i = 0; i < N; ++i) o[i] *= factor[i / 2 % 2];
}

// Of a panel, where a piece of a row lies.
ATTEST_INLINE unsigned swizzled(int row, int piece) { return row * 128 + ((piece ^ row) & 7) * 16; }

// Moves the rows of 64 tokens to shared memory: thread t of kLoaders has pieces t % 8 of the panels
// of tokens t / 8, t / 8 + kLoaders / 8, ..
template <int kLoaders>
class Loader {
 public:
  static constexpr int kTokens = kRows / (kLoaders / 8);
  ATTEST_INLINE Loader(const Stage1Arguments& a, const Program& p) : a_(a), p_(p) {}

  // Looks up the rows of a tile, ahead of its copy. Nothing past the end is read.
  ATTEST_INLINE void find(int tile) {
    for (int j = 0; j < kTokens; ++j) {
      const int token = tile + token_of(j);
      row_[j] = token < p_.end ? cache_row(a_, p_, token) : 0;
    }
  }
  // Copies the tile that was found last; an absent token is zeros.
  ATTEST_INLINE void copy(int tile, gpu::SharedAddress stage) const {
    for (int j = 0; j < kTokens; ++j) {
      const bool present = tile + token_of(j) < p_.end;
      const gpu::Bits16* from = row_address(a_, row_[j]) + 8 * piece();
      const gpu::SharedAddress to = stage + swizzled(token_of(j), piece());
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        gpu::copy_async(to + panel * kPanelBytes, from + panel * 64, present);
      }
    }
  }
  ATTEST_INLINE static int token_of(int j) {
    return gpu::thread_index() % kLoaders / 8 + kLoaders / 8 * j;
  }
  ATTEST_INLINE static int piece() { return gpu::thread_index() % 8; }

 private:
  const Stage1Arguments& a_;
  const Program& p_;
  unsigned row_[kTokens] = {};
};

// Output rows in shared memory, as fp32, from where they are stored 8 columns a thread.
inline constexpr int kOutStride = kDV + 8;  // floats

// A warp's accumulators of 16 heads, first_row of the tile's, from column `first` on.
template <int N>
ATTEST_INLINE void put_output(float* out, const float (&o)[N], int first_row, int first) {
  const int lane = gpu::lane_index();
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const int row = first_row + lane / 4 + 8 * (i / 2 % 2);
    float2* const at =
        reinterpret_cast<float2*>(out + row * kOutStride + first + i / 4 * 8) + lane % 4;
    *at = make_float2(o[i], o[i + 1]);
  }
}

// inverse[head of the tile]: 1 / sum of its weights.
ATTEST_INLINE void store_output(const Stage1Arguments& a, const Program& p, const float* out,
                                const float* inverse, int heads) {
  gpu::arrive();
  for (int i = gpu::thread_index(); i < heads * kDV / 8; i += kThreads) {
    const int head = i / (kDV / 8);
    const int column = i % (kDV / 8) * 8;
    float value[8];
    for (int x = 0; x < 8; ++x) value[x] = out[head * kOutStride + column + x];
    store_head(a, p, p.head_begin + head, column, inverse[head], value);
  }
}

// ---- 16 heads

struct Shared16 {
  union {
    unsigned char stage[3][kStageBytes];
    float out[16 * kOutStride];
  };
  gpu::Bits16 p[16][72];  // weights of a tile; the padding moves a row on by 4 banks
  float max[kWarps][16];  // of a tile's scores; at the end: the warps' sums
  float inverse[16];
};
static_assert(sizeof(Shared16) <= kHopperLdsBytes);

class Attend16 {
 public:
  ATTEST_INLINE Attend16(Shared16& shared, const Stage1Arguments& a, const Program& p)
      : shared_(shared), a_(a), p_(p) {}

  ATTEST_INLINE void run() {
    Loader<kThreads> loader(a_, p_);
    loader.find(p_.begin);
    copy_query(stage(2));  // the last of the stages that a tile comes to
    gpu::commit_copies();
    for (int ahead = 0; ahead < 2; ++ahead) {
      const int tile = p_.begin + ahead * kRows;
      if (tile < p_.end) loader.copy(tile, stage(ahead));
      gpu::commit_copies();
      loader.find(tile + kRows);
    }
    gpu::wait_for_copies<2>();
    gpu::barrier();
    load_query(stage(2));
    int at = 0;
    for (int tile = p_.begin; tile < p_.end; tile += kRows) {
      gpu::wait_for_copies<1>();
      gpu::barrier();  // the tile is there, and the one before, or the query, is read
      const int ahead = tile + 2 * kRows;
      if (ahead < p_.end) loader.copy(ahead, stage((at + 2) % 3));
      gpu::commit_copies();
      loader.find(ahead + kRows);
      take(stage(at), p_.end - tile);
      at = (at + 1) % 3;
    }
    finish();
  }

 private:
  ATTEST_INLINE gpu::SharedAddress stage(int i) const {
    return gpu::shared_address(shared_.stage[i]);
  }

  // Heads past the last one repeat it: heads do not mix, and theirs are not stored.
  ATTEST_INLINE void copy_query(gpu::SharedAddress to) const {
    for (int i = gpu::thread_index(); i < 16 * kDQk / 8; i += kThreads) {
      const int row = i / (kDQk / 8), octet = i % (kDQk / 8);
      const int head = gpu::min_of(p_.head_begin + row, a_.h - 1);
      gpu::copy_async(to + octet / 8 * kPanelBytes + swizzled(row, octet % 8),
                      a_.q + p_.token * a_.q_stride_token + head * a_.q_stride_head + 8 * octet,
                      true);
    }
  }
  ATTEST_INLINE void load_query(gpu::SharedAddress from) {
    const int lane = gpu::lane_index();
#pragma unroll
    for (int c = 0; c < kDQk / 16; ++c) {
      query_[c] = gpu::load_matrices(from + c / 4 * kPanelBytes +
                                     swizzled(lane % 16, 2 * (c % 4) + lane / 16));
    }
  }

  ATTEST_INLINE void take(gpu::SharedAddress stage, int count) {
    float s[4];
    score(s, stage, count);
    put_weights(s);
    add_values(stage);
  }

  // Of the warp's 8 tokens. Two chains, as a chain waits for each product.
  ATTEST_INLINE void score(float (&s)[4], gpu::SharedAddress stage, int count) const {
    const int lane = gpu::lane_index();
    const int first = 8 * gpu::wave_index();
    float chain[2][4] = {};
#pragma unroll
    for (int c = 0; c < kDQk / 32; ++c) {
      const gpu::Fragment k = gpu::load_matrices(
          stage + c / 2 * kPanelBytes + swizzled(first + lane % 8, 4 * (c % 2) + lane / 8));
      gpu::add_product(chain[0], query_[2 * c], k.word[0], k.word[1]);
      gpu::add_product(chain[1], query_[2 * c + 1], k.word[2], k.word[3]);
    }
    for (int i = 0; i < 4; ++i) {
      const int token = first + 2 * (lane % 4) + i % 2;
      s[i] = scaled_score(chain[0][i] + chain[1][i], a_.scale_log2, token, count);
    }
  }

  // Scores to unnormalised weights under the new running max.
  ATTEST_INLINE void put_weights(const float (&s)[4]) {
    const int lane = gpu::lane_index(), warp = gpu::wave_index();
    for (int h = 0; h < 2; ++h) {
      const float max = max_over_quad(gpu::max_of(s[2 * h], s[2 * h + 1]));
      if (lane % 4 == 0) shared_.max[warp][lane / 4 + 8 * h] = max;
    }
    gpu::barrier();
    float now[2], base[2], factor[2];
    for (int h = 0; h < 2; ++h) {
      now[h] = softmax_.max[h];
      for (int w = 0; w < kWarps; ++w) {
        now[h] = gpu::max_of(now[h], shared_.max[w][lane / 4 + 8 * h]);
      }
    }
    const bool moved = softmax_.move(now, base, factor);
    if (gpu::wave_any(moved)) rescale(o_, factor);  // a factor of exactly 1 changes no bit
    for (int h = 0; h < 2; ++h) {
      const float p0 = gpu::exp2_fast(s[2 * h] - base[h]);
      const float p1 = gpu::exp2_fast(s[2 * h + 1] - base[h]);
      softmax_.sum[h] += p0 + p1;
      *reinterpret_cast<gpu::Bits32*>(&shared_.p[lane / 4 + 8 * h][8 * warp + 2 * (lane % 4)]) =
          gpu::pack_bf16(p0, p1);
    }
    gpu::barrier();
  }

  // o += P V of the warp's 64 columns.
  ATTEST_INLINE void add_values(gpu::SharedAddress stage) {
    const int lane = gpu::lane_index();
    const gpu::SharedAddress panel = stage + gpu::wave_index() * kPanelBytes;
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const gpu::Fragment p =
          gpu::load_matrices(gpu::shared_address(&shared_.p[lane % 16][16 * j + 8 * (lane / 16)]));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const gpu::Fragment v =
            gpu::load_transposed(panel + swizzled(16 * j + lane % 16, 2 * i + lane / 16));
        gpu::add_product(o(2 * i), p, v.word[0], v.word[1]);
        gpu::add_product(o(2 * i + 1), p, v.word[2], v.word[3]);
      }
    }
  }
  ATTEST_INLINE float (&o(int block))[4] { return reinterpret_cast<float(&)[4]>(o_[4 * block]); }

  ATTEST_INLINE void finish() {
    const int lane = gpu::lane_index(), warp = gpu::wave_index();
    gpu::wait_for_copies<0>();
    gpu::barrier();  // the stages are free
    for (int h = 0; h < 2; ++h) {
      const float sum = sum_over_quad(softmax_.sum[h]);
      if (lane % 4 == 0) shared_.max[warp][lane / 4 + 8 * h] = sum;
    }
    put_output(shared_.out, o_, 0, 64 * warp);
    gpu::barrier();
    float sum[2] = {};
    for (int h = 0; h < 2; ++h) {
      for (int w = 0; w < kWarps; ++w) sum[h] += shared_.max[w][lane / 4 + 8 * h];
      if (warp != 0 || lane % 4 != 0) continue;
      shared_.inverse[lane / 4 + 8 * h] = inverse_of(sum[h]);
      store_lse(a_, p_, p_.head_begin + lane / 4 + 8 * h, softmax_.max[h], sum[h]);
    }
    gpu::barrier();
    store_output(a_, p_, shared_.out, shared_.inverse, 16);
  }

  Shared16& shared_;
  const Stage1Arguments& a_;
  const Program& p_;
  gpu::Fragment query_[kDQk / 16];
  Softmax softmax_;
  float o_[32] = {};
};

// ---- 64 heads

struct Shared64 {
  unsigned char query[kStageBytes];
  union {
    unsigned char stage[2][kStageBytes];
    float out[kRows * kOutStride];
  };
  float inverse[kRows];
};
static_assert(sizeof(Shared64) <= kHopperLdsBytes);

class Attend64 {
 public:
  ATTEST_INLINE Attend64(Shared64& shared, const Stage1Arguments& a, const Program& p)
      : shared_(shared), a_(a), p_(p) {}

  // Warpgroups 0 and 1 take the tiles that warpgroup 2 fetches.
  ATTEST_INLINE void run() {
    if (group() == kGroups) {
      gpu::give_registers<40>();
      fetch();
    } else {
      gpu::take_registers<232>();
      attend();
      finish();
    }
  }

 private:
  static constexpr int kGroups = 2, kGroupThreads = 128;
  // Barriers: a stage is full, or free, for one warpgroup and the one that fetches; the last is of
  // both that attend.
  static constexpr int kFull = 1, kFree = kFull + 2 * kGroups, kBoth = kFree + 2 * kGroups;
  using TileLoader = Loader<kGroupThreads>;

  ATTEST_INLINE static int group() { return gpu::wave_index() / 4; }
  ATTEST_INLINE gpu::SharedAddress stage(int i) const {
    return gpu::shared_address(shared_.stage[i]);
  }

  ATTEST_INLINE void fetch() const {
    TileLoader loader(a_, p_);
    loader.find(p_.begin);
    copy_query();
    int at = 0;
    for (int tile = p_.begin; tile < p_.end; tile += kRows) {
      if (tile >= p_.begin + 2 * kRows) {
        for (int g = 0; g < kGroups; ++g) gpu::wait_at(kFree + kGroups * at + g, 2 * kGroupThreads);
      }
      loader.copy(tile, stage(at));
      gpu::commit_copies();
      loader.find(tile + kRows);
      gpu::wait_for_copies<0>();
      gpu::fence_for_tensor_cores();
      for (int g = 0; g < kGroups; ++g) gpu::arrive_at(kFull + kGroups * at + g, 2 * kGroupThreads);
      at = 1 - at;
    }
    gpu::wait_for_copies<0>();  // of the query, where there is no tile
  }

  ATTEST_INLINE void attend() {
    int at = 0;
    for (int tile = p_.begin; tile < p_.end; tile += kRows) {
      gpu::wait_at(kFull + kGroups * at + group(), 2 * kGroupThreads);
      float s[32];
      begin_scores(s, stage(at));
      gpu::wait_for_products();
      to_weights(s, p_.end - tile);
      add_values(s, stage(at));
      if (tile + 2 * kRows < p_.end)
        gpu::arrive_at(kFree + kGroups * at + group(), 2 * kGroupThreads);
      at = 1 - at;
    }
  }

  ATTEST_INLINE void copy_query() const {
    const gpu::SharedAddress to = gpu::shared_address(shared_.query);
    for (int j = 0; j < TileLoader::kTokens; ++j) {
      const int row = TileLoader::token_of(j);
      const gpu::Bits16* from = a_.q + p_.token * a_.q_stride_token +
                                (p_.head_begin + row) * a_.q_stride_head + 8 * TileLoader::piece();
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel) {
        gpu::copy_async(to + panel * kPanelBytes + swizzled(row, TileLoader::piece()),
                        from + panel * 64, true);
      }
    }
  }

  // o += P V of the warpgroup's 256 columns.
  ATTEST_INLINE void add_values(const float (&s)[32], gpu::SharedAddress stage) {
    // An accumulator's values, packed, are the operand of the next product.
    gpu::Fragment p[kRows / 16];
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      const float* x = s + 8 * j;
      p[j] = {{gpu::pack_bf16(x[0], x[1]), gpu::pack_bf16(x[2], x[3]), gpu::pack_bf16(x[4], x[5]),
               gpu::pack_bf16(x[6], x[7])}};
    }
    const gpu::SharedAddress values = stage + 4 * group() * kPanelBytes;
    gpu::begin_products();
#pragma unroll
    for (int j = 0; j < kRows / 16; ++j) {
      gpu::add_product_256(o_, p[j],
                           gpu::matrix_descriptor(values + 16 * j * 128, kPanelBytes, 8 * 128));
    }
    gpu::commit_products();
    gpu::wait_for_products();
  }

  ATTEST_INLINE void begin_scores(float (&s)[32], gpu::SharedAddress stage) const {
    const gpu::SharedAddress query = gpu::shared_address(shared_.query);
    gpu::begin_products();
#pragma unroll
    for (int c = 0; c < kDQk / 16; ++c) {
      const unsigned at = c / 4 * kPanelBytes + c % 4 * 32;
      gpu::add_product_64(s, gpu::matrix_descriptor(query + at, 16, 8 * 128),
                          gpu::matrix_descriptor(stage + at, 16, 8 * 128), c == 0);
    }
    gpu::commit_products();
  }

  // Scores to unnormalised weights under the new running max.
  ATTEST_INLINE void to_weights(float (&s)[32], int count) {
    const int lane = gpu::lane_index();
    float now[2] = {softmax_.max[0], softmax_.max[1]}, base[2], factor[2];
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      const int token = i / 4 * 8 + 2 * (lane % 4) + i % 2;
      s[i] = scaled_score(s[i], a_.scale_log2, token, count);
      now[i / 2 % 2] = gpu::max_of(now[i / 2 % 2], s[i]);
    }
    for (float& max : now) max = max_over_quad(max);
    const bool moved = softmax_.move(now, base, factor);
    if (gpu::wave_any(moved)) rescale(o_, factor);  // a factor of exactly 1 changes no bit
    float of_tile[2] = {};  // first: the sum of all tiles would round away what is small against it
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      s[i] = gpu::exp2_fast(s[i] - base[i / 2 % 2]);
      of_tile[i / 2 % 2] += s[i];
    }
    for (int h = 0; h < 2; ++h) softmax_.sum[h] += of_tile[h];
  }

  ATTEST_INLINE void finish() {
    const int lane = gpu::lane_index();
    const int first_row = gpu::wave_index() % 4 * 16;
    gpu::wait_at(kBoth, kGroups * kGroupThreads);  // the stages are free
    put_output(shared_.out, o_, first_row, 256 * group());
    for (int h = 0; h < 2; ++h) {
      const float sum = sum_over_quad(softmax_.sum[h]);
      if (group() != 0 || lane % 4 != 0) continue;
      const int row = first_row + lane / 4 + 8 * h;
      shared_.inverse[row] = inverse_of(sum);
      store_lse(a_, p_, p_.head_begin + row, softmax_.max[h], sum);
    }
    gpu::wait_at(kBoth, kGroups * kGroupThreads);
    store_output(a_, p_, shared_.out, shared_.inverse, kRows);
  }

  Shared64& shared_;
  const Stage1Arguments& a_;
  const Program& p_;
  Softmax softmax_;
  float o_[128] = {};
};

}  // namespace attest::mla_decode

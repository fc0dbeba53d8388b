// Problem: what is computed. No data, no pointers. The field's letters:
//   b sequences; s_q query tokens and s_kv cached tokens of a sequence; h_q query heads (h_kv is 1
//   in MLA); total_q = sum of s_q; row = (query token, head) = token * h_q + head.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace attest {

// Head dimensions of DeepSeek V3 MLA decode: K is [latent 512 | RoPE 64], V is K's latent part.
inline constexpr int kDQk = 576;
inline constexpr int kDV = 512;
inline constexpr int kDRope = 64;

enum class PageOrder { kShuffled, kSequential, kReversed };
enum class GridOrder { kAuto, kSplitMinor, kSplitMajor };

// How the elements of q and of the cache are stored.
enum class Storage {
  kBf16,
  // e4m3fnuz, the fp8 of gfx940..gfx942: bias 8, largest 240, NaN is 0x80 alone, no infinity and no
  // -0. The value of an element is that of its code times the tensor's descale factor. (The e4m3fn
  // of gfx950 and NVIDIA is another format: the same code is worth twice as much.)
  kFp8,
};
constexpr std::int64_t bytes_of_element(Storage storage) {
  return storage == Storage::kFp8 ? 1 : 2;
}

struct Problem {
  int h_q = 16;                  // 1..128
  std::vector<int> s_kv = {64};  // [b] tokens in the cache, 0 allowed
  std::vector<int> s_q = {1};    // [b] 1..8; query token i of s_q sees s_kv - s_q + i + 1 tokens
  int page_size = 1;             // tokens per page: 1, 16 or 64
  int num_splits = 0;            // 1..256; 0: the kernel's own rule picks
  float sm_scale = 1.0f / 24;    // 1 / sqrt(576)
  PageOrder page_order = PageOrder::kShuffled;
  GridOrder grid_order = GridOrder::kAuto;
  int shared_prefix = 0;       // tokens at the front of every sequence that share one set of pages;
                               // a multiple of page_size, at most the shortest s_kv
  std::int64_t page_base = 0;  // physical pages start here: > 4 GiB of cache in front when large
  int kv_indptr_start = 0;     // entries of kv_indices that belong to nobody, before the first
  int q_pad = 0;               // elements between one head's q and the next, multiple of 8
  int o_pad = 0;               // elements between one head's o and the next, multiple of 8
  Storage q_type = Storage::kBf16;
  Storage kv_type = Storage::kBf16;
  float q_scale = 1;   // descale factors of the whole tensor: a value is its code's times this.
  float kv_scale = 1;  // Of an fp8 tensor; 1 where the tensor is bf16

  bool operator==(const Problem&) const = default;

  int b() const { return static_cast<int>(s_kv.size()); }
  int total_q() const;
  std::int64_t rows() const { return std::int64_t{1} * total_q() * h_q; }
  int max_s_q() const;
  std::int64_t total_kv() const;
  // What multiplies the dot product of the stored codes: the softmax scale and both descale
  // factors. Of bf16, sm_scale itself.
  double logit_scale() const { return double{sm_scale} * q_scale * kv_scale; }
  // Tokens that query token i (0-based) of sequence `seq` sees: the first visible() of its cache.
  int visible(int seq, int i) const;
  std::int64_t q_stride_h() const { return kDQk + q_pad; }  // elements
  std::int64_t q_stride_t() const { return h_q * q_stride_h(); }
  std::int64_t o_stride_h() const { return kDV + o_pad; }
  std::int64_t o_stride_t() const { return h_q * o_stride_h(); }
  std::int64_t pages_of(int seq) const {
    return (std::int64_t{s_kv[seq]} + page_size - 1) / page_size;
  }
};

// Empty when the problem is well formed and within the limits of attest; else what is wrong with
// which field.
std::string why_invalid(const Problem& problem);

inline constexpr int kMaxHeads = 128;
inline constexpr float kMinDescale = 1e-9f, kMaxDescale = 1e9f;
inline constexpr int kMaxQueryTokens = 8;
inline constexpr int kMaxSplits = 256;
inline constexpr int kMaxBatch = 4096;
inline constexpr int kMaxContext = 1 << 20;                         // tokens of one sequence
inline constexpr std::int64_t kMaxTotalKv = std::int64_t{1} << 22;  // tokens of all sequences

}  // namespace attest

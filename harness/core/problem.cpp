#include "harness/core/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace attest {

int Problem::total_q() const { return std::accumulate(s_q.begin(), s_q.end(), 0); }

int Problem::max_s_q() const { return s_q.empty() ? 0 : *std::max_element(s_q.begin(), s_q.end()); }

std::int64_t Problem::total_kv() const {
  return std::accumulate(s_kv.begin(), s_kv.end(), std::int64_t{0});
}

int Problem::visible(int seq, int i) const {
  return std::clamp(s_kv[seq] - s_q[seq] + i + 1, 0, s_kv[seq]);
}

namespace {

std::string outside(const char* field, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value >= low && value <= high) return {};
  return fmt::format("{} = {} is outside {}..{}", field, value, low, high);
}

std::string lengths_invalid(const Problem& p) {
  if (auto why = outside("b", p.b(), 1, kMaxBatch); !why.empty()) return why;
  if (p.s_q.size() != p.s_kv.size()) {
    return fmt::format("s_q has {} entries, s_kv has {}", p.s_q.size(), p.s_kv.size());
  }
  for (int seq = 0; seq < p.b(); ++seq) {
    if (auto why = outside("s_kv", p.s_kv[seq], 0, kMaxContext); !why.empty()) return why;
    if (auto why = outside("s_q", p.s_q[seq], 1, kMaxQueryTokens); !why.empty()) return why;
  }
  return outside("sum of s_kv", p.total_kv(), 0, kMaxTotalKv);
}

std::string layout_invalid(const Problem& p) {
  if (p.page_size != 1 && p.page_size != 16 && p.page_size != 64) {
    return fmt::format("page_size = {} is none of 1, 16, 64", p.page_size);
  }
  const int shortest = *std::min_element(p.s_kv.begin(), p.s_kv.end());
  if (auto why = outside("shared_prefix", p.shared_prefix, 0, shortest); !why.empty()) return why;
  if (p.shared_prefix % p.page_size != 0) {
    return fmt::format("shared_prefix = {} is no multiple of page_size = {}", p.shared_prefix,
                       p.page_size);
  }
  if (auto why = outside("page_base * page_size", p.page_base * p.page_size, 0, 1 << 24);
      !why.empty()) {
    return why;
  }
  if (auto why = outside("kv_indptr_start", p.kv_indptr_start, 0, 1 << 20); !why.empty())
    return why;
  for (auto [field, pad] : {std::pair{"q_pad", p.q_pad}, std::pair{"o_pad", p.o_pad}}) {
    if (auto why = outside(field, pad, 0, 4096); !why.empty()) return why;
    if (pad % 8 != 0) return fmt::format("{} = {} is no multiple of 8 elements", field, pad);
  }
  return {};
}

std::string descale_invalid(const char* field, Storage storage, float scale) {
  if (storage == Storage::kBf16 && scale != 1) {
    return fmt::format("{} = {} means nothing: the tensor is stored in bf16", field, scale);
  }
  if (!(scale >= kMinDescale && scale <= kMaxDescale)) {
    return fmt::format("{} = {} is outside {}..{}", field, scale, kMinDescale, kMaxDescale);
  }
  return {};
}

}  // namespace

std::string why_invalid(const Problem& p) {
  if (auto why = outside("h_q", p.h_q, 1, kMaxHeads); !why.empty()) return why;
  if (auto why = outside("num_splits", p.num_splits, 0, kMaxSplits); !why.empty()) return why;
  if (!(p.sm_scale == p.sm_scale) || p.sm_scale > 1e6f || p.sm_scale < -1e6f) {
    return fmt::format("sm_scale = {} is not a finite number within 1e6", p.sm_scale);
  }
  if (auto why = descale_invalid("q_scale", p.q_type, p.q_scale); !why.empty()) return why;
  if (auto why = descale_invalid("kv_scale", p.kv_type, p.kv_scale); !why.empty()) return why;
  if (auto why = lengths_invalid(p); !why.empty()) return why;
  return layout_invalid(p);
}

}  // namespace attest

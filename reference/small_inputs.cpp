#include "reference/small_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/core/formats.hpp"

namespace attest {
namespace {

constexpr std::uint16_t kPoison = 0x7FC1;  // a NaN

// SplitMix64 of a counter: the value at (seed, tensor, element) is a pure function.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

struct Source {
  std::uint64_t seed;
  // The sum of four uniforms has variance 1/3 and no far tail: near enough to normal here.
  double normal(std::uint64_t tensor, std::int64_t element) const {
    const std::uint64_t bits = mix(mix(seed * 4 + tensor) + static_cast<std::uint64_t>(element));
    double sum = -2;
    for (int i = 0; i < 4; ++i) sum += static_cast<double>((bits >> (16 * i)) & 0xFFFF) / 65536;
    return sum * std::sqrt(3.0);
  }
};

double query_value(Family family, const Source& source, std::int64_t row, int d) {
  const double normal = source.normal(0, row * kDQk + d);
  switch (family) {
    case Family::kHugeLogits:
      return 30 * normal;
    case Family::kVeryNegative:
      return d >= kDV ? 12 : 0.1 * normal;
    case Family::kAllEqual:
      return d >= kDV ? 1 : 0;
    case Family::kNeedle:
    case Family::kStaircase:
      return d >= kDV ? 1 + 0.1 * normal : 0.2 * normal;
    default:
      return normal;
  }
}

double key_value(Family family, const Source& source, std::int64_t at, int tokens, int j, int d) {
  const double normal = source.normal(1, at * kDQk + d);
  const bool rope = d >= kDV;
  switch (family) {
    case Family::kHugeLogits:
      return 4 * normal;
    case Family::kVeryNegative:
      return rope ? -20 + 0.01 * normal : normal;
    case Family::kAllEqual:
      return rope ? 0.5 : normal;
    case Family::kCancelling:
      return rope ? normal : (j % 2 == 0 ? 1.0 : -1.0) * (1 + 0.01 * normal);
    case Family::kNeedle:
      return rope ? (j == tokens * 2 / 3 ? 6.0 : 0.1 * normal) : normal;
    case Family::kPositiveV:
      return rope ? normal : 1 + 0.2 * std::fabs(normal);
    case Family::kStaircase:
      return rope ? 8.0 * j / std::max(tokens, 1) : normal;
    default:
      return normal;
  }
}

// Every second physical page stays unused.
void place_pages(const Problem& p, Inputs& in) {
  in.qo_indptr = {0};
  in.kv_indptr = {p.kv_indptr_start};
  std::int64_t total = 0;
  for (int s = 0; s < p.b(); ++s) {
    in.qo_indptr.push_back(in.qo_indptr.back() + p.s_q[s]);
    in.kv_indptr.push_back(in.kv_indptr.back() + static_cast<int>(p.pages_of(s)));
    in.kv_last_page_len.push_back(p.s_kv[s] == 0 ? 0 : (p.s_kv[s] - 1) % p.page_size + 1);
    total += p.pages_of(s);
  }
  in.num_pages = 2 * total + 1;
  in.kv_indices.assign(p.kv_indptr_start, -1);
  for (std::int64_t i = 0; i < total; ++i) {
    in.kv_indices.push_back(static_cast<int>(2 * (total - i) - 1));
    in.used_pages.push_back(static_cast<int>(2 * i + 1));
  }
}

// By name, so that neither the project's generators nor its reader of elements are in here.
void put(double value, Storage storage, float descale, std::int64_t at, PoisonedMemory& memory) {
  if (storage == Storage::kFp8) {
    memory.data<std::uint8_t>()[at] = encode_fp8(value / descale, Fp8::kE4m3fnuz);
  } else {
    memory.data<std::uint16_t>()[at] = encode_bf16(value);
  }
}

std::uint16_t poison_of(Storage storage) { return storage == Storage::kFp8 ? 0x8080 : kPoison; }

void fill_tokens(const Problem& p, Family family, const Source& source, Inputs& in) {
  std::int64_t at = 0;
  for (int s = 0; s < p.b(); ++s) {
    for (int j = 0; j < p.s_kv[s]; ++j, ++at) {
      const std::int64_t page = in.kv_indices[in.kv_indptr[s] + j / p.page_size];
      const std::int64_t first = (page * p.page_size + j % p.page_size) * kDQk;
      for (int d = 0; d < kDQk; ++d) {
        const double value = key_value(family, source, at, p.s_kv[s], j, d);
        put(value, p.kv_type, p.kv_scale, first + d, in.kv);
      }
    }
  }
}

}  // namespace

const char* name_of(Family family) {
  static constexpr const char* kNames[] = {"normal",     "huge logits", "very negative",
                                           "all equal",  "cancelling",  "needle",
                                           "positive v", "staircase"};
  return kNames[static_cast<int>(family)];
}

Result<Inputs> small_inputs(const Problem& p, Family family, std::uint64_t seed) {
  Inputs in;
  place_pages(p, in);
  const Source source{seed};
  in.q_type = p.q_type;
  in.kv_type = p.kv_type;
  auto q = PoisonedMemory::make(p.total_q() * p.q_stride_t() * bytes_of_element(p.q_type),
                                poison_of(p.q_type));
  if (!q) return q.trouble();
  auto kv = PoisonedMemory::make(in.num_pages * p.page_size * kDQk * bytes_of_element(p.kv_type),
                                 poison_of(p.kv_type));
  if (!kv) return kv.trouble();
  in.q = std::move(*q);
  in.kv = std::move(*kv);
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    for (int d = 0; d < kDQk; ++d) {
      const double value = query_value(family, source, row, d);
      put(value, p.q_type, p.q_scale, row * p.q_stride_h() + d, in.q);
    }
  }
  fill_tokens(p, family, source, in);
  return in;
}

}  // namespace attest

#include "reference/streaming_oracle.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <span>

#include "harness/core/check.hpp"

namespace attest {
namespace {

constexpr int kMaxBlock = 64;
constexpr int kLanes = 16;  // independent sums of a dot product, for the machine's vectors
static_assert(kDQk % kLanes == 0);

// e4m3fnuz, from its definition: (-1)^s (8 + m) 2^(e - 11), or m 2^-10 where e is 0.
double value_of_fp8(std::uint8_t code) {
  if (code == 0x80) return std::numeric_limits<double>::quiet_NaN();
  const int e = code >> 3 & 15, m = code & 7;
  const double magnitude = e == 0 ? std::ldexp(m, -10) : std::ldexp(8 + m, e - 11);
  return code > 0x80 ? -magnitude : magnitude;
}

// Row of 576 at element `first`: the numbers that its codes are, without a descale factor.
void decode_row(const PoisonedMemory& memory, Storage storage, std::int64_t first, double* to) {
  if (storage == Storage::kFp8) {
    const auto* codes = memory.data<std::uint8_t>() + first;
    for (int d = 0; d < kDQk; ++d) to[d] = value_of_fp8(codes[d]);
    return;
  }
  const auto* bits = memory.data<std::uint16_t>() + first;
  for (int d = 0; d < kDQk; ++d) to[d] = std::bit_cast<float>(std::uint32_t{bits[d]} << 16);
}

// Where a row's query and tokens lie.
struct Place {
  std::int64_t q = 0;  // its first element
  int sequence = 0, visible = 0;
};

Place place_of(const Problem& problem, std::int64_t row) {
  ATTEST_CHECK(row >= 0 && row < problem.rows());
  const int head = static_cast<int>(row % problem.h_q);
  std::int64_t token = row / problem.h_q;
  const std::int64_t address = token * problem.q_stride_t() + head * problem.q_stride_h();
  Place place{address};
  while (token >= problem.s_q[place.sequence]) token -= problem.s_q[place.sequence++];
  const int after = problem.s_q[place.sequence] - 1 - static_cast<int>(token);
  place.visible = std::max(problem.s_kv[place.sequence] - after, 0);  // the causal diagonal
  return place;
}

// Every product of two codes is exact. Sum2 of Ogita, Rump, Oishi, "Accurate sum and dot product",
// SISC 26(6), 2005, in each lane.
DoubleDouble dot(const double* q, const double* k) {
  double high[kLanes] = {}, low[kLanes] = {};
  for (int d = 0; d < kDQk; d += kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      const DoubleDouble s = two_sum(high[i], q[d + i] * k[d + i]);
      high[i] = s.high;
      low[i] += s.low;
    }
  }
  DoubleDouble sum;
  for (int i = 0; i < kLanes; ++i) sum = sum + two_sum(high[i], low[i]);
  return sum;
}

class Stream {
 public:
  Stream(const StreamOptions& options, double unit) : options_(options), unit_(unit) {}

  // `k`: [tokens, 576]; `x`: their scores.
  void take(std::span<const DoubleDouble> x, const double* k) {
    double largest = largest_;
    for (const DoubleDouble& score : x) largest = std::max(largest, score.high);
    if (largest > largest_) raise_to(largest);
    for (std::size_t j = 0; j < x.size(); ++j) add(exp(x[j] - largest_), k + j * kDQk);
  }

  StreamedRow finish() const {
    StreamedRow row{std::vector<DoubleDouble>(kDV),
                    std::vector<double>(kDV),
                    {-std::numeric_limits<double>::infinity(), 0}};
    if (largest_ == row.lse.high) return row;
    for (int d = 0; d < kDV; ++d) {
      row.o[d] = DoubleDouble{high_[d], low_[d]} / l_ * unit_;
      row.magnitude[d] = magnitude_[d] / l_.high * unit_;
    }
    row.lse = log(l_) + largest_;
    return row;
  }

 private:
  // Any double serves as the max that weights are relative to: its own rounding cancels.
  void raise_to(double largest) {
    const DoubleDouble fade = exp(two_sum(largest_, -largest));
    if (largest_ > -std::numeric_limits<double>::infinity() && !options_.skip_rescale) {
      l_ = l_ * fade;
      for (int d = 0; d < kDV; ++d) {
        const DoubleDouble o = DoubleDouble{high_[d], low_[d]} * fade;
        high_[d] = o.high;
        low_[d] = o.low;
        magnitude_[d] *= fade.high;
      }
    }
    largest_ = largest;
  }

  void add(DoubleDouble w, const double* v) {
    l_ = l_ + w;
    for (int d = 0; d < kDV; ++d) {
      const DoubleDouble product = two_product(w.high, v[d]);
      const DoubleDouble sum = two_sum(high_[d], product.high);
      const double rest = std::fma(w.low, v[d], product.low) + (sum.low + low_[d]);
      const DoubleDouble o = fast_two_sum(sum.high, rest);
      high_[d] = o.high;
      low_[d] = o.low;
      magnitude_[d] += w.high * std::fabs(v[d]);
    }
  }

  const StreamOptions options_;
  const double unit_;  // of V: its descale factor
  double largest_ = -std::numeric_limits<double>::infinity();
  DoubleDouble l_;
  alignas(64) double high_[kDV] = {};
  alignas(64) double low_[kDV] = {};
  alignas(64) double magnitude_[kDV] = {};
};

}  // namespace

StreamedRow streaming_oracle(const Problem& problem, const Inputs& inputs, std::int64_t row,
                             TokenRange tokens, const StreamOptions& options) {
  ATTEST_CHECK(options.block_tokens >= 1 && options.block_tokens <= kMaxBlock);
  const Place place = place_of(problem, row);
  double q[kDQk];
  decode_row(inputs.q, problem.q_type, place.q, q);
  const std::int32_t* const pages = inputs.kv_indices.data() + inputs.kv_indptr[place.sequence];
  const int end = std::min(tokens.end, place.visible);
  std::vector<double> k(static_cast<std::size_t>(options.block_tokens) * kDQk);
  std::vector<DoubleDouble> x;
  Stream stream(options, problem.kv_scale);
  for (int begin = tokens.begin; begin < end; begin += options.block_tokens) {
    x.clear();
    for (int j = begin; j < std::min(begin + options.block_tokens, end); ++j) {
      const auto [page, slot] = std::div(j, problem.page_size);
      double* const to = &k[static_cast<std::size_t>(j - begin) * kDQk];
      decode_row(inputs.kv, problem.kv_type,
                 (std::int64_t{pages[page]} * problem.page_size + slot) * kDQk, to);
      x.push_back(dot(q, to) * double{problem.sm_scale} * double{problem.q_scale} *
                  double{problem.kv_scale});
    }
    stream.take(x, k.data());
  }
  return stream.finish();
}

}  // namespace attest

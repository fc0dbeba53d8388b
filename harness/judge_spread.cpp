#include "harness/judge_spread.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace attest {
namespace {

// [0]: 0; [i]: (2^(i-1-below), 2^(i-below)], the first with all below, the last with all above.
int bin_of(double value, int below) {
  if (value == 0) return 0;
  if (!(value <= std::ldexp(1.0, Spread::kBins - 1 - below))) return Spread::kBins - 1;
  const int power = static_cast<int>(std::ceil(std::log2(value)));
  return std::clamp(power + below, 1, Spread::kBins - 1);
}

constexpr int kOneOfRatio = 12, kOneOfUlp = 1;  // the bin that ends at 1

// Of two numbers of the format, how many others lie between them, plus one.
double ulps_between(Stored stored, std::uint32_t a, std::uint32_t b) {
  const auto ordered = [&](std::uint32_t bits) -> std::int64_t {
    const std::uint32_t sign = stored == Stored::kFp32 ? 0x8000'0000u : 0x8000u;
    const std::int64_t magnitude = bits & (sign - 1);
    return (bits & sign) != 0 ? -magnitude : magnitude;
  };
  return static_cast<double>(std::abs(ordered(a) - ordered(b)));
}

double quantile(std::vector<double>& values, double share) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

class SpreadOf {
 public:
  SpreadOf(std::string_view tensor, const TensorGates& gates) : gates_(gates) {
    spread_.tensor = tensor;
  }
  void add(std::int64_t i, std::uint32_t bits) {
    if (gates_.count() == 0) return;
    const GateAt tightest = gates_.at(gates_.count() - 1, i);
    const double actual = value_of(gates_.stored(), bits);
    if (!std::isfinite(tightest.centre) || !(tightest.radius > 0) ||
        !std::isfinite(tightest.radius)) {
      return;
    }
    ++spread_.sampled;
    double ratio = 0;
    for (int g = 0; g < gates_.count(); ++g) {
      const GateAt gate = gates_.at(g, i);
      ratio = std::max(ratio, ratio_of(gates_.stored(), actual, gate.centre, gate.radius));
    }
    ++spread_.by_ratio.at(bin_of(ratio, kOneOfRatio));
    const std::uint32_t expected = stored_bits(gates_.stored(), tightest.centre);
    const double ulps = std::isfinite(actual) ? ulps_between(gates_.stored(), bits, expected)
                                              : std::numeric_limits<double>::infinity();
    ++spread_.by_ulp.at(bin_of(ulps, kOneOfUlp));
    ratios_.push_back(ratio);
    bounds_.push_back(tightest.radius);
  }
  Spread finish() && {
    if (spread_.sampled > 0) {
      spread_.ratio_median = quantile(ratios_, 0.5);
      spread_.ratio_p99 = quantile(ratios_, 0.99);
      spread_.bound_median = quantile(bounds_, 0.5);
    }
    return std::move(spread_);
  }

 private:
  const TensorGates& gates_;
  Spread spread_;
  std::vector<double> ratios_, bounds_;
};

// Odd, so that it meets all columns.
std::int64_t stride_of(std::int64_t elements) { return (elements / kSpreadSample) | 1; }

// `stored` says where the kernel put the i-th element.
template <class Bits, class StoredAt>
void add_spread(std::string_view tensor, const TensorGates& gates, const std::vector<Bits>& bits,
                const StoredAt& stored_at, std::vector<Spread>& spreads) {
  SpreadOf spread(tensor, gates);
  const auto elements = static_cast<std::int64_t>(bits.size());
  for (std::int64_t i = 0; i < elements; i += stride_of(elements)) {
    spread.add(i, bits[stored_at(i)]);
  }
  Spread made = std::move(spread).finish();
  if (made.sampled > 0) spreads.push_back(std::move(made));
}

}  // namespace

std::vector<Spread> spreads_of(const Subject& s, const Output& output, const CaseGates& gates) {
  const auto as_it_is = [](std::int64_t i) { return i; };
  const auto partial = [&](std::int64_t i) {
    return stored_partial(s, i / s.num_splits, static_cast<int>(i % s.num_splits));
  };
  const auto partial_column = [&](std::int64_t i) { return partial(i / kDV) * kDV + i % kDV; };
  std::vector<Spread> spreads;
  add_spread("partial_lse", gates.partial_lse, output.partial_lse, partial, spreads);
  add_spread("partial_o", gates.partial_o, output.partial_o, partial_column, spreads);
  add_spread("lse", gates.lse, output.lse, as_it_is, spreads);
  add_spread("o", gates.o, output.o, as_it_is, spreads);
  return spreads;
}

}  // namespace attest

// The rules of others. Each comment names the file that the rule is in; a constant without another
// source line is that file's.
#include "harness/comparators.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

double lse_of(const Observed& actual, std::size_t i) {
  return std::bit_cast<float>(actual.output.lse[i]);
}
double o_of(const Observed& actual, std::size_t i) { return decode_bf16(actual.output.o[i]); }
double rounded_o(const Yardstick& y, std::size_t i) {
  return decode_bf16(encode_bf16(y.reference.expected.o[i]));
}

// torch.isclose(actual, expected) with equal_nan=False: an infinity is close to itself alone, a NaN
// to nothing.
bool is_close(double actual, double expected, double atol, double rtol) {
  if (actual == expected) return true;
  if (!std::isfinite(actual) || !std::isfinite(expected)) return false;
  return std::abs(actual - expected) <= atol + rtol * std::abs(expected);
}

// torch.allclose, torch.testing.assert_close and numpy.testing.assert_allclose, of o.
template <int kHundredths>
bool allclose(const Yardstick& y, const Observed& actual) {
  constexpr double kTolerance = kHundredths * 0.01;  // Source: the columns' own names
  for (std::size_t i = 0; i < y.reference.expected.o.size(); ++i) {
    if (!is_close(o_of(actual, i), y.reference.expected.o[i], kTolerance, kTolerance)) return false;
  }
  return true;
}

// aiter/test_common.py, checkAllclose(a, b, rtol=1e-2, atol=1e-2, tol_err_ratio=0.05): red only
// when more than 5 % of the elements are not close. The MLA scripts pass the kernel's output as b,
// so that rtol scales with it, and compare lse likewise.
template <class Expected, class Actual>
bool check_allclose(std::size_t elements, const Expected& expected, const Actual& actual) {
  constexpr double kTolerance = 1e-2, kMayFail = 0.05;  // Source: checkAllclose's defaults
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    wrong += is_close(expected(i), actual(i), kTolerance, kTolerance) ? 0 : 1;
  }
  return static_cast<double>(wrong) <= kMayFail * static_cast<double>(elements);
}
bool aiter(const Yardstick& y, const Observed& actual) {
  return check_allclose(
             y.reference.expected.o.size(), [&](std::size_t i) { return rounded_o(y, i); },
             [&](std::size_t i) { return o_of(actual, i); }) &&
         check_allclose(
             y.reference.expected.lse.size(),
             [&](std::size_t i) { return y.reference.expected.lse[i]; },
             [&](std::size_t i) { return lse_of(actual, i); });
}

// 1 - 2 x.y / (x.x + y.y) over a whole tensor. `least` is what the denominator is at least.
template <class X, class Y>
double cosine_difference(std::size_t elements, const X& x, const Y& y, double least) {
  double xy = 0, sum = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    xy += x(i) * y(i);
    sum += x(i) * x(i) + y(i) * y(i);
  }
  return 1 - 2 * xy / std::max(sum, least);  // a NaN sum stays one: max returns its first argument
}

// vLLM tests/kernels/attention/test_flashmla.py, cal_diff: cos_diff < 1e-5, of out and of lse;
// aiter op_tests/test_mla.py has the same function.
template <int kTenthsOfAMillionth>
bool cosine(const Yardstick& y, const Observed& actual) {
  constexpr double kLimit = kTenthsOfAMillionth * 1e-7;
  constexpr double kLeast = 1e-12;  // Source: cal_diff's max(..., 1e-12)
  return cosine_difference(
             y.reference.expected.o.size(), [&](std::size_t i) { return o_of(actual, i); },
             [&](std::size_t i) { return y.reference.expected.o[i]; }, kLeast) < kLimit &&
         cosine_difference(
             y.reference.expected.lse.size(), [&](std::size_t i) { return lse_of(actual, i); },
             [&](std::size_t i) { return y.reference.expected.lse[i]; }, kLeast) < kLimit;
}

// oneDNN tests/benchdnn/sdpa/sdpa.cpp, setup_cmp, and utils/compare.cpp, compare_p2p, for a bf16
// dst and the forward pass: the first leg that holds accepts an element. The relative leg's
// threshold, 8 (1 + n_keys) eps, is 1 at 15 keys: from there on zeros pass. Too many zeros make a
// run MISTRUSTED, which does not change the exit status; so it counts as accepted.
bool benchdnn_element(double expected_fp32, double actual, double threshold, double magnitude) {
  constexpr double kBf16Epsilon = 0x1p-7;   // Source: epsilon_dt(dnnl_bf16)
  constexpr double kTiny = 1e-5;            // Source: compare_p2p
  constexpr double kFp32Epsilon = 0x1p-23;  // Source: epsilon_dt(dnnl_f32)
  if (expected_fp32 == actual) return true;
  const double expected = decode_bf16(encode_bf16(expected_fp32));
  const double size = std::abs(expected), difference = std::abs(expected - actual);
  if (size <= kTiny && difference < kFp32Epsilon) return true;
  if ((size > kTiny ? difference / size : difference) <= threshold) return true;
  return difference <= kBf16Epsilon * magnitude;  // the driver's own check
}
bool benchdnn(const Yardstick& y, const Observed& actual) {
  // n_keys is the problem's, of the longest sequence.
  const int keys = *std::max_element(y.subject.problem.s_kv.begin(), y.subject.problem.s_kv.end());
  const double threshold = 8.0 * (1.0 + keys) * 0x1p-7;  // Source: setup_cmp, trh_coeff of forward
  for (std::size_t i = 0; i < y.reference.expected.o.size(); ++i) {
    if (!benchdnn_element(y.reference.expected.o[i], o_of(actual, i), threshold, y.magnitude[i])) {
      return false;
    }
  }
  return true;
}

// FlashMLA tests/kernelkit/compare.py, check_is_allclose: NaN and infinities at the same places,
// every element within abs_tol or rel_tol of the reference, and the cosine difference of the rest.
struct FlashMlaLimits {
  double absolute, relative, cosine;
};
template <class Actual, class Expected>
bool flash_mla_tensor(std::size_t elements, const Actual& actual, const Expected& expected,
                      const FlashMlaLimits& limits) {
  constexpr double kFloor = 1e-6;  // Source: raw_abs_err / (torch.abs(ref) + 1e-6)
  double xy = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    const double a = actual(i), e = expected(i);
    if (!std::isfinite(a) || !std::isfinite(e)) {
      if (a == e || (std::isnan(a) && std::isnan(e))) continue;  // both become 0
      return false;
    }
    const double error = std::abs(a - e);
    if (error >= limits.absolute && error / (std::abs(e) + kFloor) >= limits.relative) return false;
    xy += a * e;
    sum += a * a + e * e;
    squares += e * e;
  }
  constexpr double kNoSignal = 1e-12;  // Source: get_cos_diff
  const double difference = squares < kNoSignal ? 0 : 1 - 2 * xy / sum;
  return std::abs(difference) <= limits.cosine;
}
// tests/test_flash_mla_dense_decoding.py; lse keeps check_is_allclose's default cosine limit.
bool flash_mla(const Yardstick& y, const Observed& actual) {
  constexpr FlashMlaLimits kO = {8e-4, 2.01 / 128, 5e-6};      // Source: lines 170-171 of it
  constexpr FlashMlaLimits kLse = {1e-6, 8.01 / 65536, 1e-7};  // Source: as kO
  return flash_mla_tensor(
             y.reference.expected.o.size(), [&](std::size_t i) { return o_of(actual, i); },
             [&](std::size_t i) { return rounded_o(y, i); }, kO) &&
         flash_mla_tensor(
             y.reference.expected.lse.size(), [&](std::size_t i) { return lse_of(actual, i); },
             [&](std::size_t i) { return static_cast<float>(y.reference.expected.lse[i]); }, kLse);
}

// Dao-AILab/flash-attention tests/test_flash_attn.py: (out - out_ref).abs().max() <= 2 * (out_pt -
// out_ref).abs().max() + 1e-5, where all three are bf16 tensors and out_pt is attention_ref(upcast
// = False, reorder_ops = True). torch's max keeps a NaN.
double largest_difference(const Yardstick& y, std::span<const std::uint16_t> o) {
  double largest = 0;
  for (std::size_t i = 0; i < o.size(); ++i) {
    const double difference =
        std::abs(decode_bf16(encode_bf16(decode_bf16(o[i]) - rounded_o(y, i))));
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}
bool flash_attention(const Yardstick& y, const Observed& actual) {
  constexpr double kTwice = 2, kSlack = 1e-5;  // Source: the assertion above
  return largest_difference(y, actual.output.o) <=
         kTwice * largest_difference(y, y.pytorch_o) + kSlack;
}

}  // namespace

std::span<const Comparator> published_comparators() {
  static constexpr std::array kPublished = {
      Comparator{"allclose 1e-2", "torch.allclose(atol=rtol=1e-2): FlashInfer's MLA tests; o",
                 false, nullptr, allclose<1>},
      Comparator{"allclose 2e-2", "torch.allclose(atol=rtol=2e-2): vLLM's ROCm MLA tests; o", false,
                 nullptr, allclose<2>},
      Comparator{"aiter 5 %", "aiter test_common.py checkAllclose, 1e-2, 5 % may fail; o, lse",
                 false, nullptr, aiter},
      Comparator{"cosine 1e-5", "vLLM test_flashmla.py and aiter test_mla.py cal_diff; o, lse",
                 false, nullptr, cosine<100>},
      Comparator{"cosine 5e-6", "the same with FlashMLA's limit; o, lse", false, nullptr,
                 cosine<50>},
      Comparator{"benchdnn", "oneDNN tests/benchdnn/sdpa/sdpa.cpp setup_cmp; o", false, nullptr,
                 benchdnn},
      Comparator{"FlashMLA",
                 "FlashMLA tests/kernelkit/compare.py, test_flash_mla_dense_decoding.py; o, lse",
                 false, nullptr, flash_mla},
      Comparator{"FlashAttn 2x", "flash-attention tests/test_flash_attn.py; o", false, nullptr,
                 flash_attention},
  };
  return kPublished;
}

std::span<const Comparator> all_comparators() {
  static const std::vector<Comparator> all = [] {
    std::vector<Comparator> list(published_comparators().begin(), published_comparators().end());
    list.insert(list.end(), own_comparators().begin(), own_comparators().end());
    return list;
  }();
  return all;
}

}  // namespace attest

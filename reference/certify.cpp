#include "reference/certify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/core/check.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/parallel.hpp"
#include "harness/core/random.hpp"
#include "reference/streaming_oracle.hpp"

namespace attest {
namespace {

// One tensor of a result with its tightest gate; not every tier has radii or shifts for each.
struct Gated {
  const double* expected = nullptr;
  const float *t0 = nullptr, *radius = nullptr, *shift = nullptr;

  Gated(const Reference& r, const std::vector<double>& values, std::vector<float> Bound::*part,
        std::int64_t offset)
      : expected(values.data() + offset), t0((r.tiers.t0.*part).data() + offset) {
    for (const Gate& gate : gates_of(r.tiers)) {
      if ((gate.radius->*part).empty()) continue;
      radius = (gate.radius->*part).data() + offset;
      const bool shifts = gate.shift != nullptr && !(gate.shift->*part).empty();
      shift = shifts ? (gate.shift->*part).data() + offset : nullptr;
    }
  }
  double target(int i) const { return expected[i] + (shift == nullptr ? 0 : shift[i]); }
};

// One result of a row, o and lse, merged or of a split.
struct ResultOfRow {
  Gated o, lse_gated;
  bool bf16 = true;

  static ResultOfRow merged(const Reference& r, std::int64_t row) {
    return {{r, r.expected.o, &Bound::o, row * kDV}, {r, r.expected.lse, &Bound::lse, row}};
  }
  static ResultOfRow of_split(const Reference& r, const Contract& c, std::int64_t row, int split) {
    const std::int64_t at = row * r.expected.num_splits + split;
    return {{r, r.expected.partial_o, &Bound::partial_o, at * kDV},
            {r, r.expected.partial_lse, &Bound::partial_lse, at},
            c.arithmetic.bf16_partials};
  }
  double lse() const { return lse_gated.expected[0]; }
  // What the tightest gate leaves between expected and stored value. For fp32 the last rounding is
  // part of the radius.
  double allowed_lse() const { return lse_gated.radius[0]; }
  double allowed_o(int d) const {
    const double radius = o.radius[d];
    return radius + (bf16 ? half_ulp_bf16(std::fabs(o.target(d)) + radius) : 0);
  }
};

bool is_promised(double expected, double t0) {
  return std::isfinite(expected) && std::isfinite(t0);
}

bool fp64_is_enough_for(const ResultOfRow& result) {
  const double t0_lse = result.lse_gated.t0[0];
  if (!is_promised(result.lse(), t0_lse)) return true;
  if (!(own_error_of_lse(t0_lse) < kOwnShare * result.allowed_lse())) return false;
  for (int d = 0; d < kDV; ++d) {
    const double t0_o = result.o.t0[d];
    if (!is_promised(result.o.expected[d], t0_o)) continue;
    if (!(own_error_of_o(t0_o, t0_lse) < kOwnShare * result.allowed_o(d))) return false;
  }
  return true;
}

int sequence_of(const Problem& problem, std::int64_t row) {
  int sequence = 0;
  for (std::int64_t token = row / problem.h_q; token >= problem.s_q[sequence]; ++sequence) {
    token -= problem.s_q[sequence];
  }
  return sequence;
}

std::vector<TokenRange> splits_of(const Problem& problem, const Contract& contract,
                                  std::int64_t row, int num_splits) {
  return live_splits(contract.split_rule, problem.s_kv[sequence_of(problem, row)], num_splits);
}

void replace(const StreamedRow& row, double* o, double& lse) {
  for (int d = 0; d < kDV; ++d) o[d] = row.o[d].high;
  lse = row.lse.high;
}

void escalate_row(const Problem& problem, const Inputs& inputs, const Contract& contract,
                  std::int64_t row, Expected& expected) {
  replace(streaming_oracle(problem, inputs, row, {0, kMaxContext}), &expected.o[row * kDV],
          expected.lse[row]);
  if (expected.num_splits == 1) return;
  const auto splits = splits_of(problem, contract, row, expected.num_splits);
  for (std::size_t s = 0; s < splits.size(); ++s) {
    const std::int64_t at = row * expected.num_splits + static_cast<std::int64_t>(s);
    replace(streaming_oracle(problem, inputs, row, splits[s]), &expected.partial_o[at * kDV],
            expected.partial_lse[at]);
  }
}

void compare(const ResultOfRow& result, const StreamedRow& exact, Certificate& certificate) {
  const auto keep = [](double& largest, double value) {
    if (!(value <= largest)) largest = value;  // a NaN stays
  };
  const auto in_units = [](double error, double allowed) {
    return error == 0 ? 0 : error / allowed;
  };
  if (std::isinf(exact.lse.high) || std::isinf(result.lse())) {
    if (exact.lse.high != result.lse()) certificate.of_allowed = INFINITY;
    return;
  }
  const double error = std::fabs((exact.lse - result.lse()).high);
  keep(certificate.relative_lse, error / std::max(1.0, std::fabs(exact.lse.high)));
  keep(certificate.of_allowed, in_units(error, result.allowed_lse()));
  for (int d = 0; d < kDV; ++d) {
    const double of_o = std::fabs((exact.o[d] - result.o.expected[d]).high);
    keep(certificate.relative_o, in_units(of_o, exact.magnitude[d]));
    keep(certificate.of_allowed, in_units(of_o, result.allowed_o(d)));
    certificate.finite &= std::isfinite(exact.o[d].high);
  }
}

// Largest error / allowed of a row's final result.
double ratio_of_row(const Output& output, const Reference& reference, std::int64_t row) {
  const ResultOfRow result = ResultOfRow::merged(reference, row);
  double largest = std::fabs(std::bit_cast<float>(output.lse[row]) - result.lse_gated.target(0)) /
                   result.allowed_lse();
  if (std::isnan(largest)) return INFINITY;
  for (int d = 0; d < kDV; ++d) {
    const double ratio =
        std::fabs(decode_bf16(output.o[row * kDV + d]) - result.o.target(d)) / result.allowed_o(d);
    if (std::isnan(ratio)) return INFINITY;
    largest = std::max(largest, ratio);
  }
  return largest;
}

}  // namespace

// reference() makes the same kinds of errors as a kernel with p_bits = 24 and 2^-53 for 2^-24, each
// at most 16 times the declared kernel's own: 576 steps of a dot product against the 56 of the
// shallowest matrix unit (10.3); an exp of 2 ulp against 1 (2); sums of l and of P.V over chunks of
// 1024 tokens against tile_tokens + tiles, and n / 16 + 19 steps, at that length (12.8, and less
// where the context is longer: the kernel's grow as it does, the reference's by one a chunk); the
// merge takes the same steps. So T0's terms times 16 * 2^-29 hold for it. Where T0 is not their sum
// but the cap (largest |v| and |o|), the terms' sum is at most that cap times the relative error of
// a weight, of which t0_lse holds the sum up to 0.95, and the largest logarithm beyond; both parts
// of a quotient are off by it: twice.
double own_error_of_lse(double t0_lse) { return 0x1p-24 * t0_lse; }
double own_error_of_o(double t0_o, double t0_lse) {
  return 0x1p-24 * t0_o * std::max(1.0, 2 * t0_lse);
}

bool fp64_is_enough(const Contract& contract, std::int64_t row, const Reference& reference) {
  if (reference.tiers.t0.empty()) return true;
  if (!fp64_is_enough_for(ResultOfRow::merged(reference, row))) return false;
  const int num_splits = reference.expected.num_splits;
  for (int split = 0; num_splits > 1 && split < num_splits; ++split) {
    if (!fp64_is_enough_for(ResultOfRow::of_split(reference, contract, row, split))) return false;
  }
  return true;
}

std::vector<std::int64_t> escalate(const Problem& problem, const Inputs& inputs,
                                   const Contract& contract, Reference& reference, int threads) {
  std::vector<std::int64_t> rows;
  for (std::int64_t row = 0; row < reference.expected.rows; ++row) {
    if (!fp64_is_enough(contract, row, reference)) rows.push_back(row);
  }
  const bool done = parallel_for(threads, rows.size(), [&](int, std::size_t i) {
    escalate_row(problem, inputs, contract, rows[i], reference.expected);
  });
  if (!done) throw std::bad_alloc();  // as the caller's own
  return rows;
}

std::string Certificate::text() const {
  if (!finite) return "reference not certified: the row is not finite";
  const double worst = std::max(relative_o, relative_lse);
  if (trusted()) return fmt::format("reference certified to {:.0e}", std::max(worst, 1e-16));
  return fmt::format(
      "trouble of the reference itself: row {} is off by {:.3g} of what the bound allows (o by "
      "{:.3g} "
      "of sum a|v|, lse by {:.3g})",
      row, of_allowed, relative_o, relative_lse);
}

Certificate certify_row(const Problem& problem, const Inputs& inputs, const Contract& contract,
                        std::int64_t row, int split, const Reference& reference) {
  ATTEST_CHECK(!reference.tiers.t0.empty());
  Certificate certificate{.row = row, .split = split};
  const auto lse = reference.expected.lse[row];
  certificate.finite = !std::isnan(lse) && lse < INFINITY;
  compare(ResultOfRow::merged(reference, row),
          streaming_oracle(problem, inputs, row, {0, kMaxContext}), certificate);
  if (split < 0 || reference.expected.num_splits == 1) return certificate;
  const auto splits = splits_of(problem, contract, row, reference.expected.num_splits);
  const TokenRange tokens =
      split < static_cast<int>(splits.size()) ? splits[split] : TokenRange{0, 0};
  compare(ResultOfRow::of_split(reference, contract, row, split),
          streaming_oracle(problem, inputs, row, tokens), certificate);
  return certificate;
}

std::vector<RowToCertify> rows_to_certify(const Output& output, const Reference& reference,
                                          std::uint64_t seed) {
  std::vector<std::int64_t> seen;
  for (std::int64_t row = 0; row < reference.expected.rows; ++row) {
    if (std::isfinite(reference.expected.lse[row])) seen.push_back(row);
  }
  std::vector<RowToCertify> chosen;
  if (seen.empty()) return chosen;
  const auto add = [&](std::int64_t row, const char* why) {
    for (const RowToCertify& c : chosen) {
      if (c.row == row) return;
    }
    chosen.push_back({row, why});
  };
  const auto largest = [&](const auto& value) {
    return *std::max_element(seen.begin(), seen.end(),
                             [&](std::int64_t a, std::int64_t b) { return value(a) < value(b); });
  };
  add(largest([&](std::int64_t row) { return ratio_of_row(output, reference, row); }),
      "largest error / bound");
  if (!reference.rows.empty()) {
    add(largest([&](std::int64_t row) { return reference.rows[row].condition; }),
        "largest sum a|v| / |o|");
    add(largest([&](std::int64_t row) { return -reference.rows[row].condition; }),
        "smallest sum a|v| / |o|");
  }
  add(seen[Stream{mix64(seed)}.bits(0) % seen.size()], "random");
  return chosen;
}

}  // namespace attest

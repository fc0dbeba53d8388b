// For tests: a right output and all that judge() needs, made by hand, to tell lies about.
#pragma once
#include <bit>
#include <limits>

#include "harness/core/random.hpp"
#include "harness/judge.hpp"
#include "harness/judge_element.hpp"

namespace attest {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline const double kNan = std::numeric_limits<double>::quiet_NaN();

inline std::uint32_t fp32(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}
inline std::uint32_t bf16(double value) { return encode_bf16(value); }

// A right output and all that judge() needs. Sequence 0 has three live splits; sequence 1 is empty;
// sequence 2 has one token, which only its last query token sees, and two dead splits.
struct Trial {
  Problem problem{.h_q = 4, .s_kv = {300, 0, 1}, .s_q = {2, 1, 3}};
  Contract contract;
  int num_splits = 3;
  Reference reference;
  Expected& expected = reference.expected;
  Bound& bound = reference.tiers.t0;
  Output output;

  Trial(const Trial&) = delete;  // it refers to itself
  explicit Trial(int splits = 3, bool bf16_partials = false,
                 EmptyRow rule = EmptyRow::kZerosAndMinusInf)
      : num_splits(splits) {
    contract.arithmetic.bf16_partials = bf16_partials;
    contract.empty_row = rule;
    const std::size_t rows = problem.rows(), partials = splits > 1 ? rows * splits : 0;
    expected.rows = problem.rows();
    expected.num_splits = splits;
    fill(expected.o, bound.o, rows * kDV, 1);
    fill(expected.lse, bound.lse, rows, 2);
    fill(expected.partial_o, bound.partial_o, partials * kDV, 3);
    fill(expected.partial_lse, bound.partial_lse, partials, 4);
    output.o.assign(rows * kDV, kPoison16);
    output.lse.assign(rows, kPoison32);
    output.partial_o.assign(partials * kDV, bf16_partials ? kPoison16 : kPoison32);
    output.partial_lse.assign(partials, kPoison32);
    for (int t = 0, token = 0; t < problem.b(); ++t) {
      for (int i = 0; i < problem.s_q[t]; ++i, ++token) write_token(t, i, token);
    }
  }

  static void fill(std::vector<double>& values, std::vector<float>& bounds, std::size_t count,
                   int id) {
    const Stream stream = stream_of(Seed{9}, Tensor::kPlan, id);
    for (std::size_t i = 0; i < count; ++i) values.push_back(4 * stream.uniform(i) - 2);
    bounds.assign(count, 1e-3f);
  }

  std::int64_t stored(int token, int split, int head) const {
    return (std::int64_t{token} * num_splits + split) * problem.h_q + head;
  }

  void write_token(int seq, int i, int token) {
    for (int head = 0; head < problem.h_q; ++head) {
      const std::int64_t row = std::int64_t{token} * problem.h_q + head;
      const bool empty = problem.visible(seq, i) == 0;
      if (empty) {
        expected.lse[row] = -kInfinity;
        std::fill_n(expected.o.begin() + row * kDV, kDV, 0.0);
      }
      if (!empty || contract.empty_row == EmptyRow::kZerosAndMinusInf) {
        output.lse[row] = fp32(expected.lse[row]);
        for (int d = 0; d < kDV; ++d) output.o[row * kDV + d] = bf16(expected.o[row * kDV + d]);
      }
      if (num_splits > 1) write_partials(seq, i, token, head);
    }
  }

  void write_partials(int seq, int i, int token, int head) {
    const auto live = live_splits(contract.split_rule, problem.s_kv[seq], num_splits);
    for (int split = 0; split < static_cast<int>(live.size()); ++split) {
      const std::int64_t at = (std::int64_t{token} * problem.h_q + head) * num_splits + split;
      if (problem.visible(seq, i) <= live[split].begin) expected.partial_lse[at] = -kInfinity;
      output.partial_lse[stored(token, split, head)] = fp32(expected.partial_lse[at]);
      for (int d = 0; d < kDV; ++d) {
        const double value = expected.partial_o[at * kDV + d];
        output.partial_o[stored(token, split, head) * kDV + d] =
            contract.arithmetic.bf16_partials ? bf16(value) : fp32(value);
      }
    }
  }

  Verdict judged(const Explain& explain = {}) const {
    return judge({"kernel_x", problem, contract, num_splits}, output, reference, explain);
  }
};

}  // namespace attest

// Mistakes that the derivation of T1 once made, each shown to be one: data on which a correct
// kernel (the model) goes beyond the weaker bound, and stays within the whole one and within every
// tier of reference(). The formulas stand here in the open, for one head, one split, and a largest
// score that comes first, so that no max ever moves.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <map>

#include "harness/core/formats.hpp"
#include "reference/model/kernel_model.hpp"
#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"

namespace attest::model {
namespace {

constexpr double kLambda = 8, kUnit = 0x1p-24;
constexpr int kTokens = 4097;

struct Data {
  Problem problem;
  Inputs inputs;
  std::uint16_t* kv(int token) {
    return inputs.kv.data<std::uint16_t>() + std::int64_t{inputs.kv_indices[token]} * kDQk;
  }
  std::uint16_t* q() { return inputs.q.data<std::uint16_t>(); }
};

// q sees RoPE dim 0 alone; V is free.
Data data_of(const std::function<double(int token)>& logit,
             const std::function<double(int token, int column)>& v) {
  Data data;
  data.problem.h_q = 1;
  data.problem.s_kv = {kTokens};
  auto inputs = small_inputs(data.problem, Family::kNormal, 1);
  EXPECT_TRUE(inputs.ok());
  data.inputs = std::move(*inputs);
  std::fill_n(data.q(), kDQk, std::uint16_t{0});
  data.q()[kDV] = encode_bf16(24);  // 24 * sm_scale = 1: k is the logit
  for (int token = 0; token < kTokens; ++token) {
    for (int d = 0; d < kDV; ++d) data.kv(token)[d] = encode_bf16(v(token, d));
    data.kv(token)[kDV] = encode_bf16(logit(token));
  }
  return data;
}

Arithmetic fp8(bool l_from_rounded_p) {
  return {.matrix_unit = MatrixUnit::kCdna3Bf16,
          .p_bits = 4,
          .p_min_exponent = -6,
          .p_largest = 448,
          .l_from_rounded_p = l_from_rounded_p,
          .schedule_declared = true};
}

float rounded(double p) {
  return decode_fp8(encode_fp8(static_cast<float>(p), Fp8::kE4m3fn), Fp8::kE4m3fn);
}
// Of e4m3fn at p.
double ulp_of(double p) { return std::ldexp(1.0, std::max(std::ilogb(p), -6) - 3); }

struct Bounds {
  bool bins = true, denominator = true;
};

// One row in fp64, with what T1 needs.
struct Row {
  std::vector<double> p, a, kept;  // weight over the largest; over their sum; rounded p / p
  double kept_mass = 0;            // sum a kept
  explicit Row(Data& data) {
    double sum = 0;
    for (int j = 0; j < kTokens; ++j) {
      const double x = double{decode_bf16(data.kv(j)[kDV])} - decode_bf16(data.kv(0)[kDV]);
      p.push_back(std::exp(x * 24 * double{data.problem.sm_scale}));
      sum += p.back();
    }
    for (const double weight : p) {
      a.push_back(weight / sum);
      kept.push_back(rounded(weight) / weight);
      kept_mass += a.back() * kept.back();
    }
  }
};

// T1 of one column. Terms of fp32 are taken in their worst case: here they are small.
double t1(const Row& row, Data& data, int column, double o, bool lr, Bounds bounds) {
  double alone = 0, flushed = 0, mass = 0;
  std::map<int, double> together;
  for (int j = 0; j < kTokens; ++j) {
    const double v = decode_bf16(data.kv(j)[column]), from = lr ? v - o : v;
    mass += row.a[j] * std::fabs(v);
    if (row.kept[j] == 0) {
      flushed += row.a[j] * from;
      continue;
    }
    const double term = row.a[j] * ulp_of(row.p[j]) / (std::sqrt(12.0) * row.p[j]) * from;
    alone += term * term;
    // p of equal place between powers of two rounds alike: 2^(4 + 2) bins.
    const double log = std::log2(row.p[j]);
    together[static_cast<int>((log - std::floor(log)) * 64)] += term;
  }
  double variance = alone;
  for (const auto& [bin, sum] : together) variance += bounds.bins ? sum * sum : 0;
  const double fp32 = kUnit * (kTokens * 3.0 + 100) * (mass + std::fabs(o));
  const double second_order = lr ? 0 : 0x1p-8 / 3 * mass;  // u_P^2 / 3
  const double denominator = lr && bounds.denominator ? row.kept_mass : 1 - 1e-3;
  return (kLambda * std::sqrt(variance) + std::fabs(flushed) + fp32 + second_order) / denominator;
}

void expect_every_tier_holds(const ModelResult& m, const Reference& r) {
  for (const Gate& gate : gates_of(r.tiers)) {
    const auto within = [&](double actual, double expected, std::vector<float> Bound::*part,
                            int i) {
      const double shift = gate.shift == nullptr ? 0.0 : (gate.shift->*part)[i];
      EXPECT_LE(std::fabs(actual - (expected + shift)), (gate.radius->*part)[i])
          << to_string(gate.tier) << ", " << i;
    };
    within(std::bit_cast<float>(m.output.lse[0]), r.expected.lse[0], &Bound::lse, 0);
    for (int d = 0; d < kDV; ++d) within(m.o_fp32[d], r.expected.o[d], &Bound::o, d);
  }
}

struct Worst {
  double whole = 0, weaker = 0;
};

// The largest error over the bound, over the columns; and no tier of the reference broken.
Worst worst_of(Data& data, bool lr, Bounds weaker) {
  Contract contract;
  contract.arithmetic = fp8(lr);
  const auto m = run_model(data.problem, data.inputs, contract, {});
  const auto r = reference(data.problem, data.inputs, contract, 1, {});
  EXPECT_TRUE(m.ok() && r.ok());
  expect_every_tier_holds(*m, *r);
  const Row row(data);
  Worst worst;
  for (int d = 0; d < kDV; ++d) {
    const double o = r->expected.o[d], error = std::fabs(m->o_fp32[d] - o);
    worst.whole = std::max(worst.whole, error / t1(row, data, d, o, lr, {}));
    worst.weaker = std::max(worst.weaker, error / t1(row, data, d, o, lr, weaker));
  }
  return worst;
}

double mixed(int token, int column) { return std::sin(token * 12.9898 + column * 78.233) * 1.7; }
double positive(int token, int column) { return 1.5 + 0.25 * mixed(token, column); }

// All but the first have one logit, so that one rounding moves them all.
std::function<double(int)> sink_above(double nats) {
  return [nats](int token) { return token == 0 ? 0 : -nats; };
}

TEST(WeakerBounds, WithoutCoherenceBinsAreBrokenByEqualKeysUnderASink) {
  Data data = data_of(sink_above(std::log(16 / 1.05)), positive);
  const Worst worst = worst_of(data, false, {.bins = false});
  EXPECT_LE(worst.whole, 1);
  EXPECT_GT(worst.weaker, 2);
}

TEST(WeakerBounds, WithoutTheDenominatorOfRoundedPAreBrokenWhereASinkFlushesTheRest) {
  Data data = data_of(sink_above(7.7), mixed);  // e^-7.7 < 2^-10: only the sink is left
  const Worst worst = worst_of(data, true, {.denominator = false});
  EXPECT_LE(worst.whole, 1);
  EXPECT_GT(worst.weaker, 2);
}

TEST(WeakerBounds, WithNeitherAreBrokenByMore) {
  // A third level, half of the tokens: all rounded up by a fifteenth, against the others' flush.
  const auto logit = [](int token) { return token == 0 ? 0.0 : (token % 2 == 0 ? -4.1 : -6.85); };
  Data data = data_of(logit, [](int token, int column) {
    return (token % 2 == 0 ? 2 : 1) * positive(token, column);
  });
  const Worst worst = worst_of(data, true, {.bins = false, .denominator = false});
  EXPECT_LE(worst.whole, 1);
  EXPECT_GT(worst.weaker, 2);
}

// P of the others lies amid two boundaries of e4m3fn, so that it is rounded alike whatever the
// error of the first token's score, which is the max in force: the sum for o does not see that
// error, l does. No |v - o| is there to carry it.
TEST(WeakerBounds, WithoutTheErrorOfTheMaxInForceAreBrokenWhereNoRoundingFlips) {
  Data data = data_of([](int token) { return token == 0 ? 2.984 : 0; },  // 256 e^-2.984 = 12.95
                      [](int, int) { return 1; });
  Contract contract;
  contract.arithmetic = fp8(false);
  contract.arithmetic.p_scale = 256;
  contract.arithmetic.k_relative = 0x1p-8;
  const double first = std::exp(2.984) / (std::exp(2.984) + kTokens - 1);
  double worst = 0;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const auto m = run_model(data.problem, data.inputs, contract, {.seed = seed});
    const auto r = reference(data.problem, data.inputs, contract, 1, {});
    ASSERT_TRUE(m.ok() && r.ok());
    expect_every_tier_holds(*m, *r);
    ASSERT_FALSE(r->tiers.p_shift.empty());
    const double o = r->expected.o[0] + r->tiers.p_shift.o[0];
    const double centred = first * 2.984 * 0x1p-8 * std::fabs(1 - o);
    const double fp32 = kUnit * (2 * kTokens / 8.0 + 200);
    worst = std::max(worst, std::fabs(m->o_fp32[0] - o) / (centred + fp32));
  }
  EXPECT_GT(worst, 2);
}

// The relative error of fp32(q * c) in bf16: what the kernel does to a pre-scaled q.
double error_of_scaled(float q, float c) {
  return double{decode_bf16(encode_bf16(q * c))} / (double{q} * double{c}) - 1;
}

// q that is rounded again moves every token of a cluster alike. Here it rounds up in even dims,
// which cluster 0 sees, and down in odd ones, which cluster 1 sees.
struct TwoClusters {
  Data data = data_of([](int) { return 0.0; }, mixed);
  double up = 0, down = 0;  // the relative errors

  TwoClusters() {
    const float c = data.problem.sm_scale * 0x1.715476p+0f;  // log2 e
    float rises = 1, falls = 1;
    for (float q = 1; q < 1.5f; q += 0x1p-7f) {
      if (error_of_scaled(q, c) > error_of_scaled(rises, c)) rises = q;
      if (error_of_scaled(q, c) < error_of_scaled(falls, c)) falls = q;
    }
    up = error_of_scaled(rises, c);
    down = error_of_scaled(falls, c);
    for (int d = 0; d < kDQk; ++d) data.q()[d] = encode_bf16(d % 2 == 0 ? rises : falls);
    for (int token = 0; token < kTokens; ++token) {
      for (int d = 0; d < kDQk; ++d) {
        const double k = d % 2 == 0 ? 1 : double{rises} / falls;  // one logit for both
        data.kv(token)[d] = encode_bf16(token % 2 == d % 2 ? k : 0);
      }
    }
  }
};

TEST(WeakerBounds, ThatTakeTheRoundingOfQAsIndependentByTokenAreBrokenByTwoClusters) {
  TwoClusters clusters;
  Data& data = clusters.data;
  ASSERT_GT(clusters.up - clusters.down, 0x1p-9);
  Contract contract;
  contract.arithmetic = {.matrix_unit = MatrixUnit::kCdna3Bf16,
                         .p_bits = 24,
                         .scaled_q = true,
                         .schedule_declared = true};
  const auto m = run_model(data.problem, data.inputs, contract, {});
  const auto r = reference(data.problem, data.inputs, contract, 1, {});
  ASSERT_TRUE(m.ok() && r.ok());
  // Each token weighs 1 / n, up to the step of bf16 between the clusters' logits; it is half of max
  // v away from o.
  const double spread = kDQk / 2 * 1.5 * data.problem.sm_scale;  // at most, of sum |q k|
  double worst = 0;
  for (int d = 0; d < kDV; ++d) {
    const double o = r->expected.o[d], error = std::fabs(m->o_fp32[d] - o);
    const double away = std::max(o, decode_bf16(data.kv(d % 2)[d]) - o);
    const double sigma = 0x1p-8 / std::sqrt(3.0) * spread * away;  // of one token, uniform
    const double fp32 = kUnit * (100 * spread + kTokens);
    worst = std::max(worst, error / (kLambda * sigma / std::sqrt(double{kTokens}) + fp32));
  }
  EXPECT_GT(worst, 2);
}

TEST(WeakerBounds, OfLseThatIgnoreADenominatorOfRoundedPAreBrokenByOrders) {
  Data data = data_of(sink_above(7.7), mixed);
  Contract contract, ignores;
  contract.arithmetic = fp8(true);
  ignores.arithmetic = fp8(false);
  const auto m = run_model(data.problem, data.inputs, contract, {});
  const auto r = reference(data.problem, data.inputs, contract, 1, {});
  const auto weaker = reference(data.problem, data.inputs, ignores, 1, {});
  ASSERT_TRUE(m.ok() && r.ok() && weaker.ok());
  const double lse = std::bit_cast<float>(m->output.lse[0]), expected = r->expected.lse[0];
  expect_every_tier_holds(*m, *r);
  EXPECT_GT(std::fabs(lse - expected), 1000 * weaker->tiers.t0.lse[0]);
}

}  // namespace
}  // namespace attest::model

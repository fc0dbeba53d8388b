#include "reference/emulated_kernel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/row_view.hpp"

namespace attest {
namespace {

constexpr float kNone = -std::numeric_limits<float>::infinity();
constexpr float kLog2e = 1.44269504f, kLn2Single = 0.693147181f;

int group_of(const Arithmetic& a) { return a.matrix_unit == MatrixUnit::kSequentialFma ? 1 : 8; }

// sum + products, in groups whose exact sum is rounded once. Products and short sums are exact in
// fp64 for bf16 data of moderate range.
template <class Product>
float dot(int group, int length, float sum, Product product) {
  for (int begin = 0; begin < length; begin += group) {
    double exact = sum;
    for (int i = begin; i < std::min(begin + group, length); ++i) exact += product(i);
    sum = static_cast<float>(exact);
  }
  return sum;
}

struct State {  // of one running max, in log2 units
  float max = kNone, l = 0;
  std::vector<float> o = std::vector<float>(kDV, 0.0f);

  void rescale(float to) {
    const float fade = max == kNone ? 0.0f : std::exp2(max - to);
    l *= fade;
    for (float& value : o) value *= fade;
    max = to;
  }
};

float rounded_p(const Arithmetic& a, float p) {
  if (a.p_bits == 24) return p;
  const Rounding rounding = a.p_truncates ? Rounding::kTowardZero : Rounding::kNearestEven;
  if (a.p_bits == 8) return decode_bf16(encode_bf16(p, rounding));
  ATTEST_CHECK(a.p_bits == 4 && a.p_min_exponent == -6);
  return decode_fp8(encode_fp8(p, Fp8::kE4m3fn, Fp8Overflow::kSaturate, rounding), Fp8::kE4m3fn);
}

void take_tile(const Arithmetic& a, const RowView& view, float scale, TokenRange tile,
               State& state) {
  std::vector<float> x;
  for (int j = tile.begin; j < tile.end; ++j) {
    x.push_back(scale * dot(group_of(a), kDQk, 0.0f,
                            [&](int d) { return double{view.q(d)} * view.k(j, d); }));
  }
  const float largest = *std::max_element(x.begin(), x.end());
  if (largest > state.max) state.rescale(largest);
  float sum = 0;
  std::vector<float> weights;
  for (float score : x) {
    float p = std::exp2(score - state.max);
    if (p < 0x1p-126f) p = 0;
    weights.push_back(rounded_p(a, p));
    sum += a.l_from_rounded_p ? weights.back() : p;
  }
  state.l += sum;
  for (int d = 0; d < kDV; ++d) {
    state.o[d] = dot(group_of(a), static_cast<int>(x.size()), state.o[d],
                     [&](int j) { return double{weights[j]} * view.k(tile.begin + j, d); });
  }
}

State run_split(const Arithmetic& a, const RowView& view, float scale, TokenRange tokens) {
  std::vector<State> waves(a.waves_per_split);
  int tile = 0;
  for (int begin = tokens.begin; begin < tokens.end; begin += a.tile_tokens, ++tile) {
    take_tile(a, view, scale, {begin, std::min(begin + a.tile_tokens, tokens.end)},
              waves[tile % a.waves_per_split]);
  }
  State all;
  for (const State& wave : waves) all.max = std::max(all.max, wave.max);
  for (State& wave : waves) {
    wave.rescale(all.max);
    all.l += wave.l;
    for (int d = 0; d < kDV; ++d) all.o[d] += wave.o[d];
  }
  return all;
}

void merge(const Arithmetic& a, KernelRow& row) {
  const float largest = *std::max_element(row.partial_lse.begin(), row.partial_lse.end());
  float sum = 0;
  row.o.assign(kDV, 0.0f);
  for (std::size_t s = 0; s < row.partial_o.size(); ++s) {
    const float weight = std::exp2((row.partial_lse[s] - largest) * kLog2e);
    sum += weight;
    for (int d = 0; d < kDV; ++d) {
      const float stored =
          a.bf16_partials ? decode_bf16(encode_bf16(row.partial_o[s][d])) : row.partial_o[s][d];
      row.o[d] = std::fma(weight, stored, row.o[d]);
    }
  }
  const float inverse = 1 / sum;
  for (float& value : row.o) value *= inverse;
  row.lse = largest + std::log2(sum) * kLn2Single;
}

}  // namespace

KernelRow emulated_kernel(const Problem& problem, const Inputs& inputs, const Contract& contract,
                          int num_splits, std::int64_t row) {
  const RowView view(problem, inputs, row);
  const Arithmetic& a = contract.arithmetic;
  const float scale = problem.sm_scale * kLog2e;
  KernelRow result;
  for (const TokenRange& split :
       live_splits(contract.split_rule, problem.s_kv[view.sequence()], num_splits)) {
    const TokenRange tokens = view.seen(split);
    if (tokens.begin == tokens.end) break;
    State state = run_split(a, view, scale, tokens);
    const float inverse = 1 / state.l;
    for (float& value : state.o) value *= inverse;
    result.partial_o.push_back(state.o);
    result.partial_lse.push_back((state.max + std::log2(state.l)) * kLn2Single);
  }
  if (num_splits > 1) {
    merge(a, result);
  } else {
    result.o = result.partial_o[0];
    result.lse = result.partial_lse[0];
  }
  return result;
}

}  // namespace attest

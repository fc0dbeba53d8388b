// What a run of `attest soundness` is about, drawn from its index.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "fuzz/distributions/distribution.hpp"
#include "harness/core/random.hpp"
#include "harness/soundness.hpp"

namespace attest {
namespace {

using model::Transcendental;

class Draw {
 public:
  Draw(std::uint64_t seed, std::int64_t index)
      : stream_{mix64(mix64(seed) + kGolden * static_cast<std::uint64_t>(index))} {}
  int below(int count) {
    return static_cast<int>(stream_.bits(next_++) % static_cast<unsigned>(count));
  }
  bool one_in(int count) { return below(count) == 0; }
  std::uint64_t bits() { return stream_.bits(next_++); }
  template <class Value>
  Value of(std::initializer_list<Value> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

struct Variant {
  std::string_view name;
  Arithmetic arithmetic;
  bool one_sided = false;  // exp2, log2 and 1/x are as far off as they may be, always to one side
};

constexpr Arithmetic fp8(Arithmetic a) {  // e4m3fn
  a.matrix_unit = MatrixUnit::kCdna3Fp8;
  a.p_bits = 4;
  a.p_min_exponent = -6;
  a.p_largest = 448;
  return a;
}
constexpr Arithmetic fnuz(Arithmetic a) {
  a = fp8(a);
  a.p_min_exponent = -7;
  a.p_largest = 240;
  return a;
}
constexpr MatrixUnit kCdna3 = MatrixUnit::kCdna3Bf16;
constexpr std::string_view kMixture = "mixture of all flags";

// The rows of the published table; the last is drawn flag by flag.
constexpr Variant kVariants[] = {
    {"CDNA3, bf16 P", {.matrix_unit = kCdna3}},
    {"CDNA2, bf16 P", {.matrix_unit = MatrixUnit::kCdna2Bf16}},
    {"CDNA1, bf16 P", {.matrix_unit = MatrixUnit::kCdna1Bf16}},
    {"sequential FMA, bf16 P", {}},
    {"Hopper, bf16 P", {.matrix_unit = MatrixUnit::kHopperBf16}},
    {"unknown unit, bf16 P", {.matrix_unit = MatrixUnit::kUnknown}},
    {"fp32 P", {.matrix_unit = kCdna3, .p_bits = 24}},
    {"l from rounded P", {.matrix_unit = kCdna3, .l_from_rounded_p = true}},
    {"P truncated", {.matrix_unit = kCdna3, .p_truncates = true}},
    {"P truncated, l from rounded P",
     {.matrix_unit = kCdna3, .p_truncates = true, .l_from_rounded_p = true}},
    {"q pre-scaled", {.matrix_unit = kCdna3, .scaled_q = true}},
    {"K dequantised", {.matrix_unit = kCdna3, .k_relative = 0x1p-8}},
    {"exp, log 2 ulp, one-sided", {.matrix_unit = kCdna3, .exp_ulp = 2, .log_ulp = 2}, true},
    {"natural lse", {.matrix_unit = kCdna3, .lse_in_log2 = false}},
    {"division-free merge", {.matrix_unit = kCdna3, .merge = Merge::kDivisionFree}},
    {"sequential merge", {.matrix_unit = kCdna3, .merge = Merge::kSequential}},
    {"bf16 partials", {.matrix_unit = kCdna3, .bf16_partials = true}},
    {"o truncated", {.matrix_unit = kCdna3, .o_truncates = true}},
    {"four waves of 16 tokens", {.matrix_unit = kCdna3, .tile_tokens = 16, .waves_per_split = 4}},
    {"lazy rescale 8", {.matrix_unit = kCdna3, .lazy_rescale = 8}},
    {"lazy rescale 8 by groups", {.matrix_unit = kCdna3, .lazy_rescale = 8, .lazy_heads = 2}},
    {"q pre-scaled, lazy, division-free",
     {.matrix_unit = kCdna3, .scaled_q = true, .merge = Merge::kDivisionFree, .lazy_rescale = 8}},
    {"fp32 P, lazy, division-free",
     {.matrix_unit = kCdna3, .p_bits = 24, .merge = Merge::kDivisionFree, .lazy_rescale = 8}},
    {"fp8 P", fp8({})},
    {"fp8 P x 256", fp8({.p_scale = 256})},
    {"fp8 P x 448", fp8({.p_scale = 448})},
    {"fp8 fnuz P x 128", fnuz({.p_scale = 128})},
    {"fp8 P, l from rounded P", fp8({.l_from_rounded_p = true})},
    {"fp8 P, division-free", fp8({.merge = Merge::kDivisionFree})},
    {"fp8 P truncated", fp8({.p_truncates = true})},
    {kMixture, {}},
};
constexpr int kMixtureIn = 4;  // one run in so many

void draw_p(Draw& draw, Arithmetic& a) {
  switch (draw.below(4)) {
    case 0:
      break;
    case 1:
      a.p_bits = 24;
      break;
    case 2:
      a = fp8(a);
      break;
    default:
      a = fnuz(a);
  }
  if (a.p_bits == 4) a.p_scale = draw.of({1.0, 128.0, 240.0, 256.0});
  if (a.p_bits == 8) a.p_scale = draw.of({1.0, 1.0, 64.0});
  a.p_truncates = a.p_bits < 24 && draw.one_in(4);
  a.l_from_rounded_p = draw.one_in(3);
}

Arithmetic draw_mixture(Draw& draw) {
  Arithmetic a;
  draw_p(draw, a);
  a.matrix_unit = static_cast<MatrixUnit>(draw.below(static_cast<int>(MatrixUnit::kUnknown) + 1));
  a.exp_ulp = draw.of({1.0, 1.0, 2.0});
  a.log_ulp = draw.of({1.0, 1.0, 2.0});
  a.divide_u = draw.of({1.0, 3.0, 3.0});
  a.scaled_q = draw.one_in(4);
  a.k_relative = draw.one_in(5) ? 0x1p-8 : 0;
  a.bf16_partials = draw.one_in(4);
  a.o_truncates = draw.one_in(4);
  a.merge = draw.of({Merge::kMaxFirst, Merge::kSequential, Merge::kDivisionFree});
  a.lse_in_log2 = a.scaled_q || draw.one_in(2);
  a.waves_per_split = draw.of({1, 1, 2, 4});
  a.lazy_rescale = draw.of({0.0, 0.0, 2.0, 8.0});
  a.lazy_heads = draw.of({1, 2, 4});
  return a;
}

void draw_arithmetic(Draw& draw, SoundnessRun& run) {
  const int count = static_cast<int>(std::size(kVariants));
  const Variant& variant =
      draw.one_in(kMixtureIn) ? kVariants[count - 1] : kVariants[draw.below(count)];
  run.arithmetic = variant.name;
  Arithmetic& a = run.contract.arithmetic;
  const bool mixture = variant.name == kMixture;
  a = mixture ? draw_mixture(draw) : variant.arithmetic;
  if (a.waves_per_split == 1 || mixture) a.tile_tokens = draw.of({16, 32, 64, 64, 128});
  a.schedule_declared = draw.one_in(2);
  run.contract.split_rule.min_tokens = draw.of({1, 16, 64, 64});
  run.model.transcendental = draw.of({Transcendental::kNearest, Transcendental::kHigh,
                                      Transcendental::kLow, Transcendental::kRandom});
  if (variant.one_sided)
    run.model.transcendental = draw.of({Transcendental::kHigh, Transcendental::kLow});
  run.model.ieee_division = draw.one_in(3);
  run.model.seed = draw.bits();
  run.kept = run.contract;
  // Undeclared, the number of running maxima is a limit.
  if (!a.schedule_declared && draw.one_in(2)) run.kept.arithmetic.waves_per_split = 1;
}

// Lengths in the order of their cost, with how often of a thousand each comes.
struct Length {
  int tokens, weight;
};
constexpr Length kLengths[] = {{1, 70},    {2, 70},     {63, 120},   {64, 120},
                               {65, 130},  {257, 190},  {1000, 130}, {1024, 112},
                               {4097, 42}, {16384, 12}, {65536, 4}};

int draw_length(Draw& draw, int max_length) {
  int total = 0;
  for (const Length& length : kLengths) total += length.tokens <= max_length ? length.weight : 0;
  int at = draw.below(std::max(total, 1));
  for (const Length& length : kLengths) {
    at -= length.weight;
    if (at < 0) return length.tokens;
  }
  return kLengths[0].tokens;
}

float draw_scale(Draw& draw) {
  constexpr float kUsual = 1.0f / 24;
  if (!draw.one_in(4)) return kUsual;
  return draw.of({0.044194174f /* 1 / sqrt(512) */, 0.13523377f /* of YaRN */, 1.0f, -kUsual, 1e-3f,
                  0.0f, 0.3f});
}

void draw_problem(Draw& draw, int max_length, SoundnessRun& run) {
  Problem& p = run.test_case.problem;
  run.length = draw_length(draw, max_length);
  p.h_q = 1 + draw.below(4);
  p.s_kv = {run.length};
  p.s_q = {1};
  if (run.length <= 4097 && draw.one_in(5)) p.s_q = {1 + draw.below(4)};
  if (run.length <= 4097 && draw.one_in(10)) {
    p.s_kv.push_back(draw.below(run.length + 1));
    p.s_q.push_back(1 + draw.below(2));
  }
  p.page_size = draw.of({1, 16, 64});
  p.num_splits = draw.of({1, 2, 4, 8, 16, 64});
  p.sm_scale = draw_scale(draw);
  run.model.num_splits = p.num_splits;
}

void draw_data(Draw& draw, SoundnessRun& run) {
  const auto all = all_distributions();
  const int count = static_cast<int>(all.size());
  const int at = draw.below(count + 1);
  run.two_latents = at == count;
  run.test_case.seed = {draw.bits()};
  run.test_case.distribution = run.two_latents ? "normal" : all[at]->name();
  run.data = run.two_latents ? "two latents" : run.test_case.distribution;
}

// One run in five is of fp8, where the contract says what becomes of it. Drawn last, so that what
// is drawn before stays what it was.
void draw_storage(Draw& draw, SoundnessRun& run) {
  if (!draw.one_in(5) || run.contract.arithmetic.scaled_q) return;
  Problem& p = run.test_case.problem;
  p.kv_type = Storage::kFp8;
  p.kv_scale = draw.of({1.0f, 0.5f, 3.0f, 0.1f, 1e-3f, 0.017f});
  if (draw.one_in(4)) return;
  p.q_type = Storage::kFp8;
  p.q_scale = draw.of({1.0f, 0.5f, 3.0f, 0.1f, 0.3f});
}

}  // namespace

std::vector<std::string_view> soundness_arithmetics() {
  std::vector<std::string_view> names;
  for (const Variant& variant : kVariants) names.push_back(variant.name);
  return names;
}

std::vector<int> soundness_lengths() {
  std::vector<int> lengths;
  for (const Length& length : kLengths) lengths.push_back(length.tokens);
  return lengths;
}

SoundnessRun draw_run(std::uint64_t seed, std::int64_t index, int max_length) {
  Draw draw(seed, index);
  SoundnessRun run;
  draw_arithmetic(draw, run);
  draw_problem(draw, max_length, run);
  draw_data(draw, run);
  draw_storage(draw, run);
  return run;
}

std::string to_string(const SoundnessRun& run) {
  const Arithmetic& a = run.contract.arithmetic;
  const Problem& p = run.test_case.problem;
  static constexpr const char* kModes[] = {"nearest", "high", "low", "random"};
  std::string text = fmt::format(
      "{}, {}; s_kv {}, s_q {}, h {}, splits {} (of {} tokens or more), page {}, sm_scale {:.6g}; "
      "unit {}, "
      "P {} bits from 2^{} x {:g}{}{}, tile {}, waves {} (kept {}), lazy {:g} by {} heads, merge "
      "{}, exp {:g} ulp, log "
      "{:g} ulp, divide {:g} u, {}",
      run.arithmetic, run.data, fmt::join(p.s_kv, ","), fmt::join(p.s_q, ","), p.h_q, p.num_splits,
      run.contract.split_rule.min_tokens, p.page_size, p.sm_scale, static_cast<int>(a.matrix_unit),
      a.p_bits, a.p_min_exponent, a.p_scale, a.p_truncates ? " truncated" : "",
      a.l_from_rounded_p ? ", l from it" : "", a.tile_tokens, a.waves_per_split,
      run.kept.arithmetic.waves_per_split, a.lazy_rescale, a.lazy_heads, static_cast<int>(a.merge),
      a.exp_ulp, a.log_ulp, a.divide_u, kModes[static_cast<int>(run.model.transcendental)]);
  for (const auto& [set, name] : {std::pair{a.scaled_q, "scaled q"},
                                  {a.k_relative > 0, "dequantised K"},
                                  {a.bf16_partials, "bf16 partials"},
                                  {a.o_truncates, "truncated o"},
                                  {!a.lse_in_log2, "natural lse"},
                                  {a.schedule_declared, "schedule declared"},
                                  {run.model.ieee_division, "IEEE division"}}) {
    if (set) text += fmt::format(", {}", name);
  }
  if (p.q_type == Storage::kFp8) text += fmt::format(", fp8 q x {:g}", p.q_scale);
  if (p.kv_type == Storage::kFp8) text += fmt::format(", fp8 cache x {:g}", p.kv_scale);
  return text;
}

}  // namespace attest

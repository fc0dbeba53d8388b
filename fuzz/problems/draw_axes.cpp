#include "fuzz/problems/draw_axes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "fuzz/distributions/distribution.hpp"

namespace attest::axes {
namespace {

using rc::Gen;
using rc::gen::inRange;
using rc::gen::just;

// The token of a case is read and typed by people: seeds have at most six digits.
constexpr std::uint64_t kSeeds = 1'000'000;

template <class T>
Gen<T> weighted(std::initializer_list<std::pair<std::size_t, Gen<T>>> gens) {
  return rc::gen::weightedOneOf<T>(gens);
}

template <class T>
Gen<T> any_of(std::vector<T> values) {
  return rc::gen::elementOf(std::move(values));
}

Gen<float> any_normal_scale() {  // +- [1, 2) * 2^-12 .. 2^2
  return rc::gen::map(rc::gen::tuple(inRange(0, 1 << 23), inRange(-12, 3), inRange(0, 2)),
                      [](const std::tuple<int, int, int>& drawn) {
                        const auto [fraction, exponent, negative] = drawn;
                        const float one_to_two = 1 + std::ldexp(static_cast<float>(fraction), -23);
                        return std::ldexp(negative != 0 ? -one_to_two : one_to_two, exponent);
                      });
}

// Rows of the pool in front, so that row `edge` lies a little before or after the first used one.
Gen<std::int64_t> rows_around(std::int64_t edge) {
  return rc::gen::map(inRange(-128, 16), [edge](int off) { return edge + off; });
}

}  // namespace

Gen<int> log_up_to(int max) {
  const int bits = static_cast<int>(std::bit_width(static_cast<unsigned>(max)));
  return rc::gen::map(rc::gen::tuple(inRange(0, bits + 1), inRange(0, 1 << 30)),
                      [max](const std::tuple<int, int>& drawn) {
                        const auto [k, random] = drawn;
                        const int low = k == 0 ? 0 : 1 << (k - 1);
                        const int high = k == 0 ? 0 : std::min(max, 2 * low - 1);
                        return low + random % (high - low + 1);
                      });
}

Gen<int> near_multiple(int unit, int max) {
  return rc::gen::map(rc::gen::tuple(log_up_to(max / unit), inRange(-1, 2)),
                      [unit, max](const std::tuple<int, int>& drawn) {
                        const auto [k, off] = drawn;
                        return std::clamp(k * unit + off, 0, max);
                      });
}

Gen<int> heads() {
  return weighted<int>({{3, any_of<int>({1, 12, 15, 16, 17, 31, 32, 33})},
                        {2, any_of<int>({63, 64, 65, 127, 128})},
                        {1, inRange(1, kMaxHeads + 1)}});
}

Gen<int> query_tokens() {
  return weighted<int>({{3, just(1)}, {2, just(2)}, {3, inRange(3, kMaxQueryTokens + 1)}});
}

Gen<int> batch() {
  return weighted<int>({{30, just(1)},
                        {36, inRange(2, 5)},
                        {30, inRange(5, 21)},
                        {5, any_of<int>({21, 24, 32, 33, 63, 64, 65, 128})}});
}

Gen<int> page_size() { return any_of<int>({1, 16, 64}); }

Gen<int> num_splits() {
  return weighted<int>({{2, just(0)},
                        {5, any_of<int>({1, 2, 2, 3, 3, 7, 8, 9, 16, 64, 255, 256})},
                        {2, inRange(1, 17)},
                        {1, inRange(1, kMaxSplits + 1)}});
}

Gen<float> sm_scale() {
  constexpr float kUsual = 1.0f / 24;
  return weighted<float>(
      {{24, just(kUsual)},
       {11, any_of<float>({0.044194174f /* 1 / sqrt(512) */, 0.13523377f /* of YaRN */, -kUsual,
                           0.0f, 1.0f, 1e-3f})},
       {1, just(1e-30f)},  // makes all heads of most data alike
       {4, any_normal_scale()}});
}

Gen<float> descale() {
  const Gen<float> any = rc::gen::map(
      rc::gen::tuple(inRange(0, 1 << 23), inRange(-12, 6)), [](const std::tuple<int, int>& drawn) {
        const auto [fraction, exponent] = drawn;
        return std::ldexp(1 + std::ldexp(static_cast<float>(fraction), -23), exponent);
      });
  return weighted<float>({{2, just(1.0f)}, {3, any_of<float>({0.5f, 3, 1e-3f, 0.1f})}, {2, any}});
}

Gen<PageOrder> page_order() {
  return any_of<PageOrder>({PageOrder::kShuffled, PageOrder::kSequential, PageOrder::kReversed});
}

Gen<GridOrder> grid_order() {
  return any_of<GridOrder>(
      {GridOrder::kAuto, GridOrder::kAuto, GridOrder::kSplitMinor, GridOrder::kSplitMajor});
}

Gen<int> kv_indptr_start() {
  return weighted<int>({{6, just(0)}, {1, any_of<int>({1, 2, 63, 64, 65})}, {1, log_up_to(1000)}});
}

Gen<int> pad() {
  return weighted<int>(
      {{3, just(0)}, {1, rc::gen::map(inRange(1, 17), [](int x) { return 8 * x; })}});
}

Gen<std::int64_t> page_base(int page_size) {
  constexpr std::int64_t kRowBytes = 2 * kDQk;
  constexpr std::int64_t kTwo32 = std::int64_t{1} << 32;
  const auto rows =
      weighted<std::int64_t>({{70, just<std::int64_t>(0)},
                              {24, rc::gen::cast<std::int64_t>(log_up_to(1000))},
                              {1, rows_around(kTwo32 / 2 / kRowBytes)},
                              {1, rows_around(kTwo32 / kRowBytes)},  // and 2^31 elements
                              {1, rows_around(kTwo32 / kDQk)}});
  return rc::gen::map(rows, [page_size](std::int64_t row) { return row / page_size; });
}

Gen<std::string> distribution() {
  std::vector<std::string> names;
  for (const Distribution* d : all_distributions()) names.emplace_back(d->name());
  return weighted<std::string>({{1, just<std::string>("normal")},
                                {2, just<std::string>("needles")},
                                {7, any_of(std::move(names))}});
}

Gen<std::uint64_t> seed() { return inRange<std::uint64_t>(0, kSeeds); }

Gen<Schedule> schedule() {
  const auto seeded = [](ScheduleKind kind) {
    return rc::gen::map(inRange<std::uint64_t>(1, kSeeds), [kind](std::uint64_t seed) {
      return Schedule{seed, kind};
    });
  };
  return weighted<Schedule>({{10, just(Schedule{})},
                             {3, seeded(ScheduleKind::kSeeded)},
                             {3, seeded(ScheduleKind::kInterleaved)},
                             {3, seeded(ScheduleKind::kDelayed)},
                             {1, seeded(ScheduleKind::kLast)}});
}

}  // namespace attest::axes

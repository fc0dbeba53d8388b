#include "fuzz/problems/simpler.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "fuzz/problems/candidates.hpp"

namespace attest {
namespace {

// From the plainest on: a wrong element can be read off, o is 1, o is a mean, seams stand out,
// anything else.
constexpr std::string_view kPlain[] = {"one_hot", "ones", "uniform_logits", "needles", "normal"};
constexpr std::uint64_t kSmallSeeds = 3;
constexpr std::uint64_t kSmallSchedules = 8;

template <class Range, class Value>
std::int64_t rank_in(const Range& range, const Value& value) {
  return std::distance(std::begin(range), std::find(std::begin(range), std::end(range), value));
}

std::int64_t rank_of(std::uint64_t seed, std::uint64_t small) {
  return static_cast<std::int64_t>(std::min(seed, small));
}

// In order; then an order of workgroups, which can be told in words; then waves that are switched
// too; then what holds besides.
constexpr ScheduleKind kPlainKinds[] = {ScheduleKind::kLast, ScheduleKind::kOrder,
                                        ScheduleKind::kSeeded, ScheduleKind::kInterleaved,
                                        ScheduleKind::kDelayed};

std::int64_t rank_of_schedule(const Schedule& schedule) {
  if (schedule == Schedule{}) return 0;
  return 1 + rank_in(kPlainKinds, schedule.kind) * static_cast<std::int64_t>(kSmallSchedules + 1) +
         rank_of(schedule.seed, kSmallSchedules);
}

// The kernel's own rule may choose any number, another one when the batch shrinks: a number is
// simpler.
std::int64_t rank_of_splits(int num_splits) {
  return num_splits == 0 ? kMaxSplits + 1 : num_splits;
}

std::int64_t complexity_of(const Problem& p) {
  const Problem plain;
  return p.b() + p.total_kv() + p.total_q() + p.h_q + rank_of_splits(p.num_splits) + p.page_size +
         p.shared_prefix + p.page_base + p.kv_indptr_start + p.q_pad + p.o_pad +
         (p.page_order != plain.page_order) + (p.grid_order != plain.grid_order) +
         (p.sm_scale != plain.sm_scale) + (p.q_type != plain.q_type) +
         (p.kv_type != plain.kv_type) + (p.q_scale != plain.q_scale) +
         (p.kv_scale != plain.kv_scale);
}

}  // namespace

std::int64_t complexity(const Case& c) {
  return complexity_of(c.problem) + rank_in(kPlain, c.distribution) +
         rank_of(c.seed.value, kSmallSeeds) + rank_of_schedule(c.schedule);
}

void Candidates::take(Case next) {
  Problem& p = next.problem;
  if (p.s_kv.empty()) return;
  const int shortest = *std::min_element(p.s_kv.begin(), p.s_kv.end());
  p.shared_prefix = std::min(p.shared_prefix, shortest) / p.page_size * p.page_size;
  if (complexity(next) >= complexity(c_) || !why_invalid(p).empty() ||
      !kernel_.why_unsupported(p).empty() ||
      std::find(list_.begin(), list_.end(), next) != list_.end()) {
    return;
  }
  list_.push_back(std::move(next));
}

std::vector<Case> plainer_values(const Case& c, const Kernel& kernel) {
  Candidates candidates(c, kernel);
  candidates.add([](Case& next) {  // all at once
    next.distribution = kPlain[0];
    next.seed = {};
    next.problem.sm_scale = Problem{}.sm_scale;
  });
  for (const std::string_view name : kPlain) {
    candidates.add([&](Case& next) { next.distribution = name; });
  }
  candidates.add_problem([](Problem& p) { p.sm_scale = Problem{}.sm_scale; });
  for (std::uint64_t seed = 0; seed < kSmallSeeds; ++seed) {
    candidates.add([&](Case& next) { next.seed = {seed}; });
  }
  return std::move(candidates).list();
}

std::vector<Case> plainer_schedules(const Case& c, const Kernel& kernel) {
  Candidates candidates(c, kernel);
  candidates.add([](Case& next) { next.schedule = {}; });
  for (const ScheduleKind kind : kPlainKinds) {
    for (std::uint64_t seed = 0; seed < kSmallSchedules; ++seed) {
      candidates.add([&](Case& next) { next.schedule = {seed, kind}; });
    }
  }
  return std::move(candidates).list();
}

}  // namespace attest

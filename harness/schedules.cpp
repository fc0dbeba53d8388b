#include "harness/schedules.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "harness/execute.hpp"
#include "harness/generate.hpp"

namespace attest {
namespace {

constexpr std::uint64_t kMostGroups = 5;  // 120 orders

bool same_bits(const Output& a, const Output& b) {
  return a.o == b.o && a.lse == b.lse && a.partial_o == b.partial_o &&
         a.partial_lse == b.partial_lse;
}

// Launches of one case's inputs, compared with the first one.
class Launches {
 public:
  Launches(const Kernel& kernel, Device& device, const Case& c, const VerifyOptions& options)
      : kernel_(kernel), device_(device), options_(options) {
    const bool is_one_launch =
        c.steps.empty() && c.property == kOracle && options.ariths.size() <= 1;
    if (!is_one_launch) return;
    auto inputs = generate(c, walk_of(kernel, c.problem), options.threads);
    if (!inputs.ok()) return;
    inputs_ = std::move(*inputs);
    own_ = launch(c);
  }

  // Whether the case needs no verdict of its own: it leaves what the first one left, and nothing
  // was seen on the way.
  bool same(const Case& c) {
    if (!own_) return false;
    const std::optional<Output> output = launch(c);
    return output && same_bits(*output, *own_);
  }

 private:
  // None where there is anything to be told.
  std::optional<Output> launch(const Case& c) {
    auto output = execute(*kernel_.fresh(), device_, options_.code_objects, c, *inputs_);
    if (!output.ok() || !output->damage.empty() || !output->remarks.empty()) return std::nullopt;
    return std::move(*output);
  }

  const Kernel& kernel_;
  Device& device_;
  const VerifyOptions& options_;
  std::optional<Inputs> inputs_;
  std::optional<Output> own_;
};

}  // namespace

std::vector<Schedule> some_schedules(const Case& c, int count) {
  constexpr std::array kKinds = {ScheduleKind::kSeeded, ScheduleKind::kInterleaved,
                                 ScheduleKind::kDelayed, ScheduleKind::kLast};
  std::vector<Schedule> schedules;
  for (std::uint64_t i = 0; schedules.size() < static_cast<std::size_t>(count); ++i) {
    const Schedule next{c.seed.value + 1 + i / kKinds.size(), kKinds[i % kKinds.size()]};
    if (next != c.schedule) schedules.push_back(next);
  }
  return schedules;
}

std::vector<Schedule> every_order(std::uint64_t groups) {
  std::vector<Schedule> orders;
  if (groups < 2 || groups > kMostGroups) return orders;
  std::uint64_t count = 1;
  for (std::uint64_t i = 2; i <= groups; ++i) count *= i;
  for (std::uint64_t rank = 0; rank < count; ++rank) {
    orders.push_back({rank, ScheduleKind::kOrder});
  }
  return orders;
}

Explored explore_schedules(const Kernel& kernel, Device& device, const Case& c,
                           const VerifyOptions& options,
                           const std::function<Verdict(const Case&)>& judge) {
  device.take_largest_grid();
  Explored explored{c, judge(c)};
  Verdict& verdict = explored.verdict;
  if (options.schedules == 0 || verdict.status == Status::kSkipped ||
      verdict.status == Status::kInfra || is_finding(verdict.status)) {
    return explored;
  }
  std::vector<Schedule> schedules = some_schedules(c, options.schedules);
  for (const Schedule& order : every_order(device.take_largest_grid())) {
    if (std::find(schedules.begin(), schedules.end(), order) == schedules.end() &&
        order != c.schedule) {
      schedules.push_back(order);
    }
  }
  Launches launches(kernel, device, c, options);
  for (const Schedule& schedule : schedules) {
    ++verdict.schedules;
    Case next = c;
    next.schedule = schedule;
    if (launches.same(next)) continue;
    Verdict other = judge(next);
    if (!is_finding(other.status)) continue;
    other.schedules = verdict.schedules;
    return {std::move(next), std::move(other)};
  }
  return explored;
}

}  // namespace attest

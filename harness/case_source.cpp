#include "harness/case_source.hpp"

#include <algorithm>
#include <cmath>

#include "fuzz/problems/draw.hpp"
#include "fuzz/properties/property.hpp"
#include "fuzz/trajectories/steps.hpp"
#include "harness/core/random.hpp"
#include "harness/generate.hpp"

namespace attest {
namespace {

const Kernel& kernel_of(const DrawFrom& from, const Case& c) {
  return **std::find_if(from.kernels.begin(), from.kernels.end(),
                        [&](const Kernel* kernel) { return kernel->name() == c.kernel; });
}

bool wanted(const DrawFrom& from, std::string_view property) {
  return from.properties.empty() || std::find(from.properties.begin(), from.properties.end(),
                                              property) != from.properties.end();
}

// What may be asked of a case, but to agree with the reference.
std::vector<std::string_view> askable(const DrawFrom& from, const Case& c) {
  std::vector<std::string_view> names;
  const Kernel& kernel = kernel_of(from, c);
  for (const Property* property : all_properties()) {
    if (property->needs_schedules() && !from.is_emulated) continue;
    if (wanted(from, property->name()) && property->why_not(c, kernel).empty()) {
      names.push_back(property->name());
    }
  }
  return names;
}

constexpr int kOracleOf20 = 10, kTrajectoryOf20 = 1;  // shares of the cases

// Decides what is asked of case `index`: the oracle, a relation, or a trajectory that begins with
// its problem.
Case with_property(const DrawFrom& from, std::int64_t index, Case c) {
  const Stream stream{
      mix64(mix64(from.seed ^ 0x70726f70) + kGolden * static_cast<std::uint64_t>(index))};
  const auto at = static_cast<int>(stream.bits(0) % 20);
  const bool trajectories = wanted(from, kTrajectory), oracle = wanted(from, kOracle);
  if (trajectories && (at < kTrajectoryOf20 || from.properties.size() == 1)) {
    return draw_trajectory(stream.bits(1), c);
  }
  if (oracle && at < kTrajectoryOf20 + kOracleOf20) return c;
  const std::vector<std::string_view> names = askable(from, c);
  if (!names.empty()) c.property = names[stream.bits(1) % names.size()];
  return c;
}

class RandomCases final : public CaseSource {
  static constexpr std::uint64_t kDraws = 50;

 public:
  explicit RandomCases(const DrawFrom& from) : from_(from) {}
  bool knows(std::int64_t, std::int64_t) const override { return true; }
  // Where nothing that is wanted applies to what was drawn, or its kernel does not take it, another
  // is drawn.
  Case at(std::int64_t index) const override {
    Case c;
    for (std::uint64_t again = 0; again < kDraws; ++again) {
      const std::uint64_t seed = from_.seed + again * kGolden;
      c = draw_case(seed, index, {.kernels = from_.kernels});
      if (!kernel_of(from_, c).why_unsupported(c.problem).empty()) continue;
      c = with_property(from_, index, c);
      if (wanted(from_, property_of(c))) break;
    }
    return c;
  }
  void commit(std::int64_t, const Case&, const Verdict&) override {}

 private:
  DrawFrom from_;
};

class ClimbingCases final : public CaseSource {
 public:
  explicit ClimbingCases(const DrawFrom& from) : from_(from) {}

  bool knows(std::int64_t index, std::int64_t committed) const override {
    return committed >= index / kGeneration * kGeneration;
  }
  Case at(std::int64_t index) const override {
    if (parents_.empty()) return draw_case(from_.seed, index, {.kernels = from_.kernels});
    const Stream stream{mix64(from_.seed + kGolden * static_cast<std::uint64_t>(index))};
    // One in 8 is drawn anew, so that the search does not stay where it began.
    if (stream.bits(0) % 8 == 0) return draw_case(from_.seed, index, {.kernels = from_.kernels});
    const Case& parent = parents_[stream.bits(1) % parents_.size()].c;
    return mutate_case(parent, stream.bits(2), {.kernels = from_.kernels});
  }
  void commit(std::int64_t index, const Case& c, const Verdict& verdict) override {
    if (verdict.status == Status::kPassed || verdict.status == Status::kSuspect) {
      const Contract contract = kernel_of(from_, c).contract(c.problem);
      children_.push_back({largest_fp32_ratio(verdict, contract), c});
    }
    if ((index + 1) % kGeneration != 0) return;
    children_.insert(children_.end(), parents_.begin(), parents_.end());
    std::stable_sort(children_.begin(), children_.end(),
                     [](const Scored& a, const Scored& b) { return a.ratio > b.ratio; });
    children_.resize(std::min<std::size_t>(children_.size(), kParents));
    parents_ = std::move(children_);
    children_.clear();
  }

 private:
  static constexpr std::int64_t kGeneration = 32;
  static constexpr std::size_t kParents = 8;
  struct Scored {
    double ratio;
    Case c;
  };
  DrawFrom from_;
  std::vector<Scored> parents_, children_;
};

class After final : public CaseSource {
 public:
  After(std::vector<Case> first, std::unique_ptr<CaseSource> then)
      : first_(std::move(first)), then_(std::move(then)) {}
  bool knows(std::int64_t index, std::int64_t committed) const override {
    return index < count() || then_->knows(index - count(), committed - count());
  }
  Case at(std::int64_t index) const override {
    return index < count() ? first_[index] : then_->at(index - count());
  }
  void commit(std::int64_t index, const Case& c, const Verdict& verdict) override {
    if (index >= count()) then_->commit(index - count(), c, verdict);
  }

 private:
  std::int64_t count() const { return static_cast<std::int64_t>(first_.size()); }
  std::vector<Case> first_;
  std::unique_ptr<CaseSource> then_;
};

}  // namespace

std::unique_ptr<CaseSource> after(std::vector<Case> first, std::unique_ptr<CaseSource> then) {
  return std::make_unique<After>(std::move(first), std::move(then));
}

std::unique_ptr<CaseSource> random_cases(const DrawFrom& from) {
  return std::make_unique<RandomCases>(from);
}

std::unique_ptr<CaseSource> climbing_cases(const DrawFrom& from) {
  return std::make_unique<ClimbingCases>(from);
}

double largest_fp32_ratio(const Verdict& verdict, const Contract& contract) {
  double largest = 0;
  for (const Worst& worst : verdict.worst) {
    const bool fp32 = worst.tensor.ends_with("lse") ||
                      (worst.tensor == "partial_o" && !contract.arithmetic.bf16_partials);
    if (fp32 && std::isfinite(worst.ratio)) largest = std::max(largest, worst.ratio);
  }
  return largest;
}

std::string_view property_of(const Case& c) { return c.steps.empty() ? c.property : kTrajectory; }

}  // namespace attest

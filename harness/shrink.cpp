#include "harness/shrink.hpp"

#include <chrono>
#include <utility>

#include "fuzz/problems/simpler.hpp"
#include "fuzz/trajectories/steps.hpp"

namespace attest {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<Case> with_shorter_steps(const Case& c) {
  std::vector<Case> shorter;
  for (std::string& steps : shorter_steps(c)) {
    shorter.push_back(c);
    shorter.back().steps = std::move(steps);
  }
  return shorter;
}

constexpr int kStages = 4;

std::vector<Case> candidates_of(int stage, const Case& c, const Kernel& kernel) {
  switch (stage) {
    case 0:
      return with_shorter_steps(c);
    case 1:
      return smaller_shapes(c, kernel);
    case 2:
      return plainer_values(c, kernel);
    default:
      return plainer_schedules(c, kernel);
  }
}

}  // namespace

Shrinker::Shrinker(Case failing, Verdict verdict, const Kernel& kernel, Verify verify,
                   const ShrinkLimits& limits)
    : best_(std::move(failing)),
      verdict_(std::move(verdict)),
      bucket_(verdict_.bucket),
      kernel_(kernel),
      verify_(std::move(verify)),
      limits_(limits) {
  tried_.insert(to_token(best_));
}

double Shrinker::seconds() const { return begin_ < 0 ? 0 : now_seconds() - begin_; }

// The next candidate that was not tried yet, of this stage or of a later one.
bool Shrinker::next_candidate(Case& candidate) {
  while (true) {
    for (; next_ < candidates_.size(); ++next_) {
      if (!why_invalid_steps(candidates_[next_]).empty()) continue;
      if (!tried_.insert(to_token(candidates_[next_])).second) continue;
      candidate = candidates_[next_++];
      return true;
    }
    if (++stage_ >= kStages) return false;
    candidates_ = candidates_of(stage_, best_, kernel_);
    next_ = 0;
  }
}

bool Shrinker::step() {
  if (begin_ < 0) begin_ = now_seconds();
  if (tries_ >= limits_.tries || seconds() > limits_.seconds) {
    why_ended_ = "its budget is spent";
    return false;
  }
  Case candidate;
  if (!next_candidate(candidate)) {
    why_ended_ = "no simpler case fails alike";
    return false;
  }
  ++tries_;
  Verdict verdict = verify_(candidate);
  if (verdict.status == Status::kInfra) {
    why_ended_ = "the machine had trouble";
    return false;
  }
  if (!is_finding(verdict.status) || verdict.bucket != bucket_) return true;
  best_ = std::move(candidate);
  verdict_ = std::move(verdict);
  ++accepted_;
  stage_ = -1;
  candidates_.clear();
  next_ = 0;
  return true;
}

}  // namespace attest

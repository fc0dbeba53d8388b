// What the kinds of stress share.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/inputs.hpp"
#include "harness/core/output.hpp"
#include "harness/session.hpp"
#include "harness/stress.hpp"
#include "harness/subject.hpp"

namespace attest {

inline Verdict passed() {
  Verdict verdict;
  verdict.status = Status::kPassed;
  return verdict;
}

// Passed, or skipped with the reason.
Verdict verdict_of_support(const Kernel& kernel, const Case& c, bool captures);

inline bool goes_on(const Verdict& verdict) {
  return verdict.status == Status::kPassed || verdict.status == Status::kSuspect ||
         verdict.status == Status::kVacuous;
}

// What the oracle says of a launch of the case.
Verdict judged(const Kernel& kernel, const Device& device, const Case& c, const Inputs& inputs,
               const Output& output, const VerifyOptions& options);

// "PLACE: " before the reason, and `stage` before the bucket's: "replay-" or nothing.
void say_where(const std::string& place, std::string_view stage, Verdict& verdict);

// Launches that owe the same bits: the verdict of the first that does not keep them, and how many
// do not.
class Kept {
 public:
  explicit Kept(std::string_view what) : what_(what) {}  // "replays"
  void looked_at(std::int64_t elements) { ++of_, elements_ += elements; }
  void broken(Verdict verdict) {
    if (!first_) first_ = std::move(verdict);
    ++broken_;
  }
  void broken_again() { ++broken_; }  // what exactly, the first tells
  bool is_broken() const { return broken_ > 0; }
  std::int64_t elements() const { return elements_; }
  // Of the first that is broken, which there is.
  Verdict verdict() const;

 private:
  std::string_view what_;
  std::optional<Verdict> first_;
  int broken_ = 0, of_ = 0;
  std::int64_t elements_ = 0;
};

std::int64_t elements_of(const Output& output);

}  // namespace attest

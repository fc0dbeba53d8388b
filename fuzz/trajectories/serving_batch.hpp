// ServingBatch: the model of a serving batch. Requests come, grow and go; pages that a request
// leaves are the first that others get, with what they hold. Plain vectors; no data, no device.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/problem.hpp"

namespace attest {

enum class Verb {
  kAdd,      // a request of `a` tokens and `b` query tokens (0: as many as the first began with)
  kGrow,     // request `a` by `b` tokens
  kFinish,   // request `a`; its pages are free
  kPad,      // rows of s_kv = 0 up to `a` rows in all, from now on
  kSplits,   // `a` splits from now on; 0: the kernel's own rule
  kDirty,    // the next launch or replay finds outputs and workspaces as the last one left them
  kLaunch,   // the batch as it is
  kCapture,  // a launch of the batch as it is, to be replayed; nothing runs
  kReplay    // what was captured; `a` times, the batch changed in place before each
};

struct Step {
  Verb verb = Verb::kLaunch;
  int a = 0, b = 0;
  bool operator==(const Step&) const = default;
};

// Whether something runs, and so can be judged.
constexpr bool runs(Verb verb) { return verb == Verb::kLaunch || verb == Verb::kReplay; }

struct Request {
  int id = 0;  // no other request of a trajectory has it
  int s_kv = 0, s_q = 1;
  std::vector<int> pages;  // of the pool, which counts from 0
};

class ServingBatch {
 public:
  // Limits of what may be typed; what is drawn is much smaller.
  static constexpr int kMaxRows = 64;
  static constexpr int kMaxTokens = 1 << 16;  // of all requests

  explicit ServingBatch(const Problem& beginning);

  // Why the step may not follow; empty when it may. Of kReplay only a = 1 is a step here: what
  // changes before a replay of many is steps of its own (changes_before()).
  std::string why_not(const Step& step) const;
  void apply(const Step& step);

  // What changes in place before replay `round` of many: a request grows by one token; now and then
  // one finishes, and a shorter one comes in its stead.
  std::vector<Step> changes_before(int round) const;

  const std::vector<Request>& requests() const { return requests_; }
  bool can_replay() const { return why_not({Verb::kReplay, 1}).empty(); }
  // What a launch or capture computes now, and what a replay does: the rows after the requests' are
  // padding. A replay has the splits of its capture as the captured problem has them.
  Problem problem() const { return problem_of_rows(rows(), splits_); }
  Problem replayed_problem() const {
    return problem_of_rows(captured_->b(), captured_->num_splits);
  }
  const std::optional<Problem>& captured() const { return captured_; }
  int pool_pages() const { return pool_pages_; }  // that any request ever had

 private:
  int rows() const;
  int tokens() const;
  Problem problem_of_rows(int rows, int num_splits) const;
  std::string why_not_replay() const;
  void add(int s_kv, int s_q);
  void take_pages(Request& request);

  Problem beginning_;
  std::vector<Request> requests_;
  std::vector<int> free_pages_;  // the last is taken first
  int pool_pages_ = 0, next_id_ = 0;
  int padded_rows_ = 0, splits_ = 0;
  std::optional<Problem> captured_;
};

}  // namespace attest

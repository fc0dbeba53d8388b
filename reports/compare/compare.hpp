// Comparison: what changed from one run to another of the same cases, from their Results alone.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "reports/run/results.hpp"

namespace attest {

// A ratio (error / bound) is news when it moved by more than this, counted from kNoNews upwards.
inline constexpr double kLeastRatioMove = 1.5;
// Inputs are the same for the same token, so a bound moves because a tolerance or a contract did.
// What is less comes from how sums round on the two hosts.
inline constexpr double kLeastBoundMove = 1e-6;
inline constexpr double kLeastVisibilityDrop = 0.05;  // of a share

// Cases that ended on both sides, with another status.
struct StatusChange {
  Status before = Status::kPassed, after = Status::kPassed;
  bool is_worse = false;                 // also where what failed has no verdict: it proves no fix
  std::vector<const CaseRecord*> cases;  // of PR, in order
};

enum class BucketFate { kNew, kFixed, kOpen };

struct BucketChange {
  std::string bucket;
  BucketFate fate = BucketFate::kOpen;
  std::int64_t base_cases = 0, pr_cases = 0;
  std::int64_t looked_at = 0;                // cases of it on BASE that PR has a verdict on
  std::string example = {}, see_again = {};  // the shortest token, of PR unless it is fixed
  std::string status = {}, reason = {}, source = {};
};

struct RatioMove {
  std::string token, tensor;
  std::string what;  // moved most: "largest", or "p99" or "median" of the elements
  double base = 0, pr = 0;
  double factor() const;
};

// Of the tightest gate's radius in the middle, or of the worst element's bound; one a kernel,
// tensor and direction.
struct BoundMove {
  std::string kernel, tensor;
  bool is_looser = false;
  std::int64_t cases = 0;
  // PR's over BASE's: of the case that moved furthest, and of the middle one. inf: no finite bound
  // is left, or it was 0.
  double factor = 1, usual = 1;
  std::string token;  // that moved furthest
};

// Fields of the contract that changed alike in several cases.
struct ContractChange {
  std::string kernel;
  std::string fields;  // "p_bits 8 -> 7, merge max_first -> sequential"
  std::int64_t cases = 0;
  std::string token;  // of one
};

// What a pass proves less than it did.
struct VisibilityDrop {
  std::string token;
  std::string what;  // "tokens seen", "strawmen rejected", "schedules"
  std::string before, after;
};

struct SpeedChange {
  struct OfCase {
    std::string token;
    double base_ms = 0, pr_ms = 0;
    double ratio() const { return pr_ms / base_ms; }
  };
  std::string kernel;
  std::int64_t cases = 0;
  double ratio = 1;             // PR's time over BASE's, geometric mean
  std::vector<OfCase> slowest;  // against BASE, at most 5
};

struct Side {
  std::string name;  // the files
  RunHeader header;
  Tally tally;
  std::int64_t drawn = 0;          // of the cases, by a fuzzer: another run draws others
  std::vector<std::string> notes;  // notes_of() its results
};

struct Comparison {
  Side base, pr;
  std::int64_t compared = 0;            // cases that ended on both sides
  std::vector<std::string> about_runs;  // "device: emu:gfx942 -> cuda:0", "build: the same"
  bool is_host_time = false;            // an emulator's: says nothing of a kernel's speed
  std::vector<StatusChange> statuses;   // worse first
  std::vector<BucketChange> buckets;    // new, open, fixed
  std::vector<BoundMove> bounds;        // looser first
  std::vector<ContractChange> contracts;
  std::vector<RatioMove> ratios;  // furthest up first, furthest down last
  std::vector<VisibilityDrop> drops;
  std::vector<std::string> added, removed;  // tokens, but for drawn ones
  std::vector<std::string> unfinished;      // ended on BASE, missing on PR
  std::vector<std::string> only_on_pr;      // ended on PR, missing on BASE
  std::vector<SpeedChange> speed;

  // Why the exit code is not 0, gravest first.
  struct Reason {
    int code = 0;
    std::string text;
  };
  std::vector<Reason> reasons;
  // 0 nothing is worse; 1 a case fails, or passes against its excuse (xpass), that did not, or a
  // bucket is new: a case that only PR has, and that fails in a bucket of BASE's, found what is
  // known; 3 PR is incomplete; 4 the machine gave no verdict; 5 PR proves less: a bound is looser
  // or gone, a contract or the bounds are others, cases are gone, vacuous, suspect, skipped or
  // excused that were not, or see less; or BASE is incomplete. Precedence as everywhere: 1 > 4 > 3
  // > 5 > 0. A ratio that moved below 1, and speed, change nothing.
  int exit_code() const { return reasons.empty() ? 0 : reasons.front().code; }
  bool is_same() const;  // nothing above but open buckets and speed
};

Comparison compare(const Results& base, const std::string& base_name, const Results& pr,
                   const std::string& pr_name);

}  // namespace attest

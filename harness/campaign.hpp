// Campaign: runs cases from a source on several threads and keeps every failure: told, run again,
// shrunk to the smallest case of the same bucket. Cases are committed, and told, in the order of
// their index: a failure is told when every case before it has ended, and what the campaign finds
// in its first N cases depends on the source alone, not on the threads. How many cases there are,
// and how small a failure becomes, may depend on time where a limit of time ends it.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/problems/plan_space.hpp"
#include "harness/case_runner.hpp"
#include "harness/case_source.hpp"
#include "harness/shrink.hpp"

namespace attest {

// What runs a campaign's cases.
struct Stand {
  OpenRunner open;  // one for each thread, and one for what is run again
  FindKernel find_kernel;
};

struct CampaignLimits {
  std::int64_t cases = -1;  // -1: no limit
  double seconds = 0;       // no case begins after; 0: no limit
  int threads = 1;
  int reruns = 4;    // of the first failure of each bucket
  int buckets = 64;  // no more are shrunk
  ShrinkLimits shrink = {};
};

// Failures, or suspects, that are called one bug.
struct Found {
  std::string bucket;
  Case first;                  // in which it was met
  std::int64_t index = 0;      // of that case
  double seconds = 0;          // from the campaign's beginning to there
  Case smallest;               // that fails alike
  Verdict verdict;             // of the smallest
  std::int64_t count = 0;      // cases in this bucket
  int runs = 1, failures = 1;  // of the first: failed in `failures` of `runs`
  int tries = 0;               // of the shrink
  double shrink_seconds = 0;
  std::string shrink_ended;
  bool is_flaky() const { return failures < runs; }
};

// How many cases of a kind ran, how many failed.
struct Share {
  std::int64_t ran = 0, failed = 0;
};
using Shares = std::map<std::string, Share>;

// The largest error / bound in a tensor of a case that passed.
struct Largest {
  double ratio = 0;
  std::string token;
};

struct CampaignResult {
  Tally tally;
  PlanSpace coverage;
  std::vector<Found> found;  // in the order in which they were met
  std::map<std::pair<std::string, std::string>, Share> shares;  // by property and distribution
  Shares by_property() const;
  Shares by_distribution() const;
  std::int64_t cases = 0, elements = 0;
  double seconds = 0;
  std::map<std::string, Largest> largest;  // by tensor
  Trouble trouble;                         // of the machine, which ended it; empty text: none
};

// Told what happens: all but `begins` from one thread.
struct CampaignEvents {
  // From the thread that is about to run the case, so that a case that ends the program is on
  // record.
  std::function<void(std::int64_t index, const Case&)> begins = {};
  // When it is committed, before anything else is done about it.
  std::function<void(const Case&, const Verdict&, bool is_new)> failed = {};
  std::function<void(const Found&)> rerun = {};    // the first failure of a bucket was run again
  std::function<void(const Found&)> smaller = {};  // a smaller case of the bucket: the best so far
  std::function<void(const Found&)> shrunk = {};   // its shrink ended
  // After each case; and then: shall no other begin?
  std::function<void(const CampaignResult& so_far)> progress = {};
  std::function<bool(const CampaignResult& so_far)> enough = {};
};

CampaignResult run_campaign(CaseSource& source, const Stand& stand, const CampaignLimits& limits,
                            const CampaignEvents& events, const std::atomic<bool>& stop);

}  // namespace attest

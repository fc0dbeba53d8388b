// Reporter: who is told what happens in a run, while it happens. What is made of a finished run:
// format.hpp.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/verdict.hpp"

namespace attest {

// Of JSON Lines. 2: plan, spreads, fault_maps, contract, source and more of run_begin.
inline constexpr int kJournalFormat = 2;

struct RunHeader {
  std::string command;  // "nightly --tier smoke"
  std::string device;   // "emu:gfx942"
  std::string machine;  // CPU model and cores
  std::int64_t cases = 0;
  std::string repro_options =
      {};                    // that `attest repro` needs besides the token: " --device emu:gfx90a"
  std::string again = {};    // the command that sees it again, where that is not `attest repro`
  std::string run = {};      // 16 hex digits: tells runs apart; one that is resumed keeps its own
  std::string started = {};  // UTC: "2026-11-30T02:00:00Z"
  std::string build = {};    // what was run: "0.1.0, code objects 5b1f09aa"
  std::string shard = {};    // "2/4": the second of four; empty: all of it
  std::string bounds = {};   // version of the derivation of the bounds (reference/error_bound.hpp)
  bool resumed = false;
  std::string plan = {};  // "88 cases 5b1f09aa41c7d2e3": the whole of which a shard has a part
  int format = kJournalFormat;
};

struct PlannedCase {
  std::string token;
  std::string phase;   // "corpus", "smoke", ...: why it is there, and so when
  double cost_ms = 0;  // expected
};

struct CaseRecord {
  std::string token;  // of the schedule that showed a failure, where several were tried
  Verdict verdict;
  double total_ms = 0;       // from inputs to verdict
  std::string planned = {};  // the token of the plan, where it is another
  std::string phase = {};
  double at_s = 0;  // since the run began, when it ended
  int tries = 1;    // processes that it took
  const std::string& planned_token() const { return planned.empty() ? token : planned; }
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void run_begin(const RunHeader& header) = 0;
  virtual void plan(std::span<const PlannedCase> /*cases*/) {}
  virtual void case_begin(std::int64_t index,
                          const std::string& token) = 0;  // before anything of it runs
  virtual void case_end(const CaseRecord& record) = 0;
  virtual void run_end(const Tally& tally, double seconds) = 0;
  // Empty unless the report could not be written in full; then why.
  virtual std::string trouble() const = 0;
};

std::unique_ptr<Reporter> make_console_reporter(std::FILE* to);  // `to` stays the caller's
std::unique_ptr<Reporter> make_jsonl_reporter(std::FILE* to);

// "passed 3, failed 1": what is not zero.
std::string tally_text(const Tally& tally);

}  // namespace attest

// Reporter: who is told what happens in a run. To add a format: a file here, a line in catalog.cpp.
#pragma once
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/verdict.hpp"

namespace attest {

struct RunHeader {
  std::string command;  // "nightly --tier smoke"
  std::string device;   // "emu:gfx942"
  std::string machine;  // CPU model and cores
  std::int64_t cases = 0;
  std::string repro_options =
      {};  // that `attest repro` needs besides the token: " --device emu:gfx90a"
  std::string again = {};  // the command that sees it again, where that is not `attest repro`
};

struct CaseRecord {
  std::string token;
  Verdict verdict;
  double total_ms = 0;  // from inputs to verdict
};

class Reporter {
 public:
  virtual ~Reporter() = default;
  virtual void run_begin(const RunHeader& header) = 0;
  virtual void case_begin(std::int64_t index,
                          const std::string& token) = 0;  // before anything of it runs
  virtual void case_end(const CaseRecord& record) = 0;
  virtual void run_end(const Tally& tally, double seconds) = 0;
  // Empty unless the report could not be written in full; then why.
  virtual std::string trouble() const = 0;
};

struct ReportFormat {
  std::string_view name;
  std::string_view purpose;
  std::unique_ptr<Reporter> (*make)(std::FILE* to);  // `to` stays the caller's
};

std::span<const ReportFormat> all_report_formats();  // catalog.cpp
const ReportFormat* find_report_format(std::string_view name);

std::unique_ptr<Reporter> make_console_reporter(std::FILE* to);
std::unique_ptr<Reporter> make_jsonl_reporter(std::FILE* to);

// "passed 3, failed 1": what is not zero.
std::string tally_text(const Tally& tally);

}  // namespace attest

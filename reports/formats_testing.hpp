// Runs for tests of report formats.
#pragma once
#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "reports/format.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {

// A run of these cases, read back from its JSON Lines as every report is.
inline Results run_of(const std::vector<CaseRecord>& cases, std::int64_t announced = -1) {
  RunHeader header{"nightly --tier smoke", "emu:gfx942", "a CPU", announced};
  if (announced < 0) header.cases = static_cast<std::int64_t>(cases.size());
  header.started = "2026-11-30T02:00:00Z";
  header.run = "00000000000000aa";
  Json begin = {{"record", "run_begin"}};
  begin.update(to_json(header));
  std::string text = to_line(begin);
  for (const CaseRecord& record : cases) {
    Json end = {{"record", "case_end"}};
    end.update(to_json(record));
    text += to_line(end);
  }
  Result<Results> results = parse_results(text, "results.jsonl");
  return results.ok() ? *std::move(results) : Results{};
}

inline CaseRecord case_of(const std::string& token, Status status, const std::string& reason = "",
                          const std::string& bucket = "") {
  CaseRecord record;
  record.token = token;
  record.verdict.status = status;
  record.verdict.reason = reason;
  record.verdict.bucket = bucket;
  return record;
}

inline std::string approved_path(const std::string& file) {
  return fmt::format("{}/reports/approved/{}", ATTEST_SOURCE_DIR, file);
}

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The run that holds a case of every status, and hostile texts.
inline Results approved_run() {
  Result<Results> results = parse_results(text_of(approved_path("results.jsonl")), "results.jsonl");
  return results.ok() ? *std::move(results) : Results{};
}

inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) {
    ++count;
  }
  return count;
}

}  // namespace attest

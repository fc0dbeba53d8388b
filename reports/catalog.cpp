#include <fmt/format.h>

#include <array>

#include "reports/format.hpp"

namespace attest {

std::span<const ReportFormat> all_report_formats() {
  static constexpr std::array kAll = {
      ReportFormat{"console", "", "a line a case, failures with their reason", render_console},
      ReportFormat{"html", "report.html", "one page: buckets, heat maps, charts, each case",
                   render_html},
      ReportFormat{"jsonl", "", "JSON Lines; shards and resumed runs as one", render_jsonl},
      ReportFormat{"junit", "junit.xml", "JUnit XML, for CI systems", render_junit},
      ReportFormat{"sarif", "report.sarif", "SARIF 2.1.0, for code scanning: a result a bucket",
                   render_sarif},
      ReportFormat{"markdown", "report.md", "for a comment on a pull request, or a step's summary",
                   render_markdown},
  };
  return kAll;
}

const ReportFormat* find_report_format(std::string_view name) {
  for (const ReportFormat& format : all_report_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::string tally_text(const Tally& t) {
  const std::pair<const char*, std::int64_t> counts[] = {
      {"passed", t.passed}, {"suspect", t.suspect}, {"vacuous", t.vacuous}, {"failed", t.failed},
      {"flaky", t.flaky},   {"crashed", t.crashed}, {"hung", t.hung},       {"skipped", t.skipped},
      {"infra", t.infra},   {"xfail", t.xfail},     {"xpass", t.xpass}};
  std::string text;
  for (const auto& [name, count] : counts) {
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  }
  if (text.empty()) text = "no case ran";
  return t.interrupted ? text + ", interrupted" : text;
}

}  // namespace attest

// ReportFormat: what is made of a finished run, from its JSON Lines alone. To add one: a file
// reports/NAME.cpp here, a line in catalog.cpp.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "reports/run/results.hpp"
#include "reports/run/trend.hpp"

namespace attest {

struct ReportFormat {
  std::string_view name;
  std::string_view file;  // that a nightly keeps it in: "junit.xml"; empty: it keeps none
  std::string_view purpose;
  std::string (*render)(const Results& results, const Trend& trend);
};

std::span<const ReportFormat> all_report_formats();  // catalog.cpp
const ReportFormat* find_report_format(std::string_view name);

std::string render_console(const Results& results, const Trend& trend);
std::string render_html(const Results& results, const Trend& trend);
std::string render_jsonl(const Results& results,
                         const Trend& trend);  // shards and resumed runs as one run
std::string render_junit(const Results& results, const Trend& trend);
std::string render_markdown(const Results& results, const Trend& trend);
std::string render_sarif(const Results& results, const Trend& trend);

}  // namespace attest

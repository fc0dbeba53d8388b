// The parts of the HTML page that are made of a run's results; html.cpp puts them into page.html.
// The verdict and the buckets are plain HTML, which needs no script; page/*.js draws the rest from
// the data.
#pragma once
#include <string>
#include <string_view>

#include "reports/run/results.hpp"
#include "reports/run/trend.hpp"

namespace attest::page {

// page.html, the style sheet, the scripts and Chart.js, as the build found them (embed.cmake).
extern const std::string_view kTemplate, kStyle, kScript, kChartLibrary;

// For attributes in double quotes, and for texts of ours.
std::string escaped(std::string_view text);
// For texts of a run, without what hides or turns characters (run/text.hpp).
std::string shown(std::string_view text);

// A status never is a colour alone: a shape and the word.
std::string_view shape_of(Status status);
std::string status_html(Status status, std::int64_t count = 0);  // "x 7 failed"; 0: no number

// "7 of 88 cases failed".
std::string headline(const Results& results);

std::string verdict_html(const Results& results);
std::string buckets_html(const Results& results);
// Numbers in cells, so that it is read without colour. `record` names query tokens and heads.
std::string heat_map_html(const FaultMap& map, const CaseRecord& record);

// JSON that may stand within a script element: it holds no "<".
std::string data_json(const Results& results, const Trend& trend);

// How many cases, at most, have their elements, terms and evidence on the page: first what did not
// pass. Each case has its row.
inline constexpr std::size_t kMostDetails = 2000;

}  // namespace attest::page

// attest_pages_for_test RESULTS FOLDER: the pages that page_test.py looks at in a browser: of the
// results, with a history of sixty nights, of a large run, and of texts that want to be HTML.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <fstream>

#include "reports/format.hpp"

namespace attest {
namespace {

// Level and failures that page_test.py expects.
constexpr int kNights = 60, kChange = 41, kFailedNight = 50;

TrendLine line_of(const std::string& family) {
  TrendLine line;
  line.family = family;
  for (int night = 0; night < kNights; ++night) {
    const bool is_after = night >= kChange;
    TrendPoint point;
    point.started = fmt::format("2026-{:02}-{:02}T02:00:00Z", 10 + night / 30, night % 30 + 1);
    point.build = is_after ? "0.1.0, code objects 77aa0911" : "0.1.0, code objects 5b1f09aa";
    point.cases = 412;
    point.failed = night == kFailedNight ? 3 : 0;
    point.median = (is_after ? 0.03 : 0.012) * (1 + 0.1 * std::sin(1.7 * night));
    point.p90 = 4 * point.median;
    point.p99 = 9 * point.median;
    point.largest = night == kFailedNight ? 47 : 18 * point.median;
    line.points.push_back(point);
  }
  line.changes = {kChange};
  return line;
}

Trend trend_of_sixty_nights() {
  Trend trend;
  trend.lines = {line_of("mla_decode emu:gfx942 lse"), line_of("mla_decode emu:gfx942 o")};
  BucketLife life;
  life.bucket = "scores.wrong.scattered.mla_decode";
  life.first_seen = life.last_seen = "2026-11-21T02:00:00Z";
  life.runs_seen = 1;
  life.runs_since = 9;
  life.cases = 3;
  life.flaky_rate = 0.25;
  life.seconds_to_first = 14.2;
  life.example = "v1:k=mla_decode:h=1:s=777:splits=2:dist=needles";
  trend.buckets = {life};
  return trend;
}

Results large_run(const Results& of) {
  Results large = of;
  constexpr std::size_t kCases = 20000;
  for (std::size_t i = 0; large.cases.size() < kCases; ++i) {
    CaseRecord record = of.cases[i % of.cases.size()];
    record.token += fmt::format(":seed={}", 1000 + i);
    large.tally.add(record.verdict.status);
    large.cases.push_back(std::move(record));
  }
  return large;
}

// `of`, each text in it a piece of HTML that would be seen to run.
Results hostile_run(const Results& of) {
  const std::string text = "</script><img src=x onerror=\"document.title='run'\"><b>";
  Results hostile = of;
  for (CaseRecord& record : hostile.cases) {
    Verdict& v = record.verdict;
    record.token += text;
    for (std::string* const field : {&v.reason, &v.blame, &v.source, &v.contract, &record.phase}) {
      *field = text;
    }
    if (!v.bucket.empty()) v.bucket = text;
    v.remarks = {text};
    for (Worst& worst : v.worst) worst.tensor = worst.tier = text;
    for (Spread& spread : v.spreads) spread.tensor = text;
    for (FaultMap& map : v.fault_maps) map.tensor = map.row_axis = map.column_axis = text;
  }
  hostile.notes = {text};
  return hostile;
}

int write(const std::string& path, const std::string& page) {
  std::ofstream file(path, std::ios::binary);
  file << page;
  return file.flush() ? 0 : 1;
}

int make_pages(const std::string& results_path, const std::string& folder) {
  const auto results = read_results({results_path});
  if (!results.ok()) {
    fmt::print(stderr, "{}\n", results.trouble().text);
    return 2;
  }
  return write(folder + "/results.html", render_html(*results, {})) +
         write(folder + "/trend.html", render_html(*results, trend_of_sixty_nights())) +
         write(folder + "/large.html", render_html(large_run(*results), {})) +
         write(folder + "/hostile.html", render_html(hostile_run(*results), {}));
}

}  // namespace
}  // namespace attest

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: attest_pages_for_test RESULTS FOLDER\n");
    return 2;
  }
  return attest::make_pages(argv[1], argv[2]);
}

#include "reports/history/history_text.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "reports/history/dates.hpp"
#include "reports/run/text.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

constexpr int kFormat = 1;
constexpr std::size_t kMostBuckets = 20;

std::string_view day_of(std::string_view started) {
  return started.empty() ? "unknown" : started.substr(0, 10);
}

// "1 case", "2 cases".
std::string counted(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string runs_text(const std::vector<KeptRun>& runs) {
  std::string text =
      fmt::format("{}, the newest last\n", counted(static_cast<std::int64_t>(runs.size()), "run"));
  std::string build;
  for (const KeptRun& run : runs) {
    text +=
        fmt::format("  {:<20}  {}  {}  {}  {:.0f} s", run.started.empty() ? "unknown" : run.started,
                    run.device, run.command + (run.shard.empty() ? "" : ", shard " + run.shard),
                    tally_text(run.tally), run.seconds);
    if (run.build != build) text += "  " + run.build;  // where it changed
    build = run.build;
    text += '\n';
  }
  return text;
}

// The middle one of a quantile over the points [begin, end).
double level(const TrendLine& line, std::size_t begin, std::size_t end,
             double TrendPoint::*quantile) {
  std::vector<double> values;
  for (std::size_t i = begin; i < end; ++i) values.push_back(line.points[i].*quantile);
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string line_text(const TrendLine& line) {
  if (line.points.empty()) return {};
  const TrendPoint& newest = line.points.back();
  const std::string failed =
      newest.failed > 0 ? fmt::format("{} of {} failed, ", newest.failed, newest.cases) : "";
  std::string text = fmt::format(
      "  {:<40}  {} of the same {}; newest: {}median {:.3g}, p99 {:.3g}, largest {:.3g}\n",
      line.family, counted(static_cast<std::int64_t>(line.points.size()), "run"),
      counted(newest.cases, "case"), failed, newest.median, newest.p99, newest.largest);
  for (std::size_t i = 0; i < line.changes.size(); ++i) {
    text += fmt::format("    changed on {}\n", change_text(line, i));
  }
  return text;
}

// Nothing where a time is not known.
std::string age_text(const std::string& since, const std::string& now) {
  const int hours = hours_between(since, now);
  return hours < 0 ? "" : fmt::format(", {} ago", counted(hours / 24, "day"));
}

std::string bucket_text(const BucketLife& life, const std::string& now) {
  const bool is_open = life.runs_since == 0;
  std::string text = fmt::format("  {:<6}  {}  {} in {}, first {}", is_open ? "open" : "closed",
                                 life.bucket, counted(life.cases, "case"),
                                 counted(life.runs_seen, "run"), day_of(life.first_seen));
  text += is_open
              ? fmt::format("{}, last {}", age_text(life.first_seen, now), day_of(life.last_seen))
              : fmt::format(", last {}, not in {} of its cases since", day_of(life.last_seen),
                            counted(life.runs_since, "run"));
  if (life.flaky_rate > 0) text += fmt::format("; {:.0f} % flaky", 100 * life.flaky_rate);
  text += fmt::format("; first case after {:.1f} s\n", life.seconds_to_first);
  if (is_open)
    text += fmt::format("          ./attest repro '{}'{}\n", life.example, life.repro_options);
  return text;
}

std::string buckets_text(const std::vector<BucketLife>& buckets, const std::string& now) {
  const auto open = std::count_if(buckets.begin(), buckets.end(),
                                  [](const BucketLife& life) { return life.runs_since == 0; });
  std::string text = fmt::format("buckets, {} open of {}\n", open, buckets.size());
  const std::size_t shown = std::min(buckets.size(), kMostBuckets);
  for (std::size_t i = 0; i < shown; ++i) text += bucket_text(buckets[i], now);
  if (shown < buckets.size()) text += fmt::format("  and {} more\n", buckets.size() - shown);
  return text;
}

Json json_of(const TrendPoint& p) {
  return {{"run", p.run},         {"started", p.started}, {"build", p.build},
          {"cases", p.cases},     {"failed", p.failed},   {"median", number(p.median)},
          {"p90", number(p.p90)}, {"p99", number(p.p99)}, {"largest", number(p.largest)}};
}

Json json_of(const TrendLine& line) {
  Json points = Json::array();
  for (const TrendPoint& point : line.points) points.push_back(json_of(point));
  return {{"family", line.family}, {"points", points}, {"changes", line.changes}};
}

Json json_of(const BucketLife& b) {
  return {{"bucket", b.bucket},         {"first_seen", b.first_seen},
          {"last_seen", b.last_seen},   {"runs_seen", b.runs_seen},
          {"runs_since", b.runs_since}, {"cases", b.cases},
          {"flaky_rate", b.flaky_rate}, {"seconds_to_first", b.seconds_to_first},
          {"example", b.example},       {"repro_options", b.repro_options}};
}

Json json_of(const KeptRun& run) {
  return {{"run", run.run},        {"started", run.started}, {"command", run.command},
          {"shard", run.shard},    {"device", run.device},   {"machine", run.machine},
          {"build", run.build},    {"bounds", run.bounds},   {"tally", to_json(run.tally)},
          {"seconds", run.seconds}};
}

template <class T>
Json json_of(const std::vector<T>& all) {
  Json json = Json::array();
  for (const T& one : all) json.push_back(json_of(one));
  return json;
}

}  // namespace

bool is_family(const TrendLine& line, const std::string& glob) {
  if (fnmatch(glob.c_str(), line.family.c_str(), 0) == 0) return true;
  const std::string words = " " + line.family + " ";
  return words.find(" " + glob + " ") != std::string::npos;
}

std::string change_text(const TrendLine& line, std::size_t change) {
  const auto at = static_cast<std::size_t>(line.changes[change]);
  const std::size_t begin = change == 0 ? 0 : static_cast<std::size_t>(line.changes[change - 1]);
  const std::size_t end = change + 1 == line.changes.size()
                              ? line.points.size()
                              : static_cast<std::size_t>(line.changes[change + 1]);
  std::string text = fmt::format("{}:", day_of(line.points[at].started));
  const char* separator = " ";
  for (const auto& [name, quantile] :
       {std::pair{"median", &TrendPoint::median}, {"p99", &TrendPoint::p99}}) {
    const double before = level(line, begin, at, quantile), after = level(line, at, end, quantile);
    text += fmt::format("{}{} {:.3g} -> {:.3g}", separator, name, before, after);
    if (before > 0 && std::isfinite(after / before))
      text += fmt::format(" ({:.2g}x)", after / before);
    separator = ", ";
  }
  const std::string &old = line.points[at - 1].build, &now = line.points[at].build;
  return text + (old == now ? "; the same build" : fmt::format("; build {} -> {}", old, now));
}

std::string history_as_text(const std::vector<KeptRun>& runs, const Trend& trend) {
  if (runs.empty()) return "no runs yet\n";
  std::string text = runs_text(runs);
  text += "error / bound: quantiles over cases of each case's largest\n";
  for (const TrendLine& line : trend.lines) text += line_text(line);
  return visible(text + buckets_text(trend.buckets, runs.back().started));
}

std::string history_as_json(const std::vector<KeptRun>& runs, const Trend& trend) {
  return to_line({{"record", "history"},
                  {"format", kFormat},
                  {"runs", json_of(runs)},
                  {"lines", json_of(trend.lines)},
                  {"buckets", json_of(trend.buckets)}});
}

}  // namespace attest

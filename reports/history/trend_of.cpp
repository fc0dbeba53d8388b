#include "reports/history/trend_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "harness/core/verdict.hpp"
#include "reports/history/change_points.hpp"
#include "reports/history/dates.hpp"
#include "reports/run/no_news.hpp"
#include "reports/run/phases.hpp"

namespace attest {
namespace {

using Id = std::int64_t;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What makes a point of a line: a run, or the shards of one.
struct Night {
  std::vector<Id> runs;
  std::string run, started, build, device;  // of the first
  std::string of, shards;                   // its device, build, command; " 1/4 3/4"
};

using Ratios = std::vector<std::pair<Id, double>>;  // by case

// What the nights have of one kernel on one device. The vectors are as long as the nights.
struct Family {
  std::vector<std::vector<Id>> cases;                 // sorted
  std::vector<std::set<Id>> failed;                   // of these
  std::map<std::string, std::vector<Ratios>> ratios;  // by tensor; inf: it failed with no number
};

// A shard belongs to the newest night that lacks it and began less than half a day before.
Night* night_of(std::vector<Night>& nights, const std::string& of, const std::string& shard,
                const std::string& started) {
  if (shard.empty()) return nullptr;
  for (auto night = nights.rbegin(); night != nights.rend(); ++night) {
    const int hours = hours_between(night->started, started);
    if (hours < 0 || hours >= 12) break;
    if (night->of == of && night->shards.find(" " + shard) == std::string::npos) return &*night;
  }
  return nullptr;
}

std::vector<Night> newest_nights(Sqlite& db, int most) {
  SqliteStatement runs(db,
                       "SELECT id, run, started, build, device, shard, command FROM runs "
                       "ORDER BY started, id");
  std::vector<Night> nights;
  while (runs.step()) {
    const std::string shard = runs.text(5), started = runs.text(2);
    const std::string of = fmt::format("{} {} {} {}", runs.text(4), runs.text(3), runs.text(6),
                                       shard.substr(std::min(shard.find('/'), shard.size())));
    Night* night = night_of(nights, of, shard, started);
    if (night == nullptr) {
      night = &nights.emplace_back(
          Night{{}, runs.text(1), started, runs.text(3), runs.text(4), of, {}});
    }
    night->runs.push_back(runs.number(0));
    if (!shard.empty()) night->shards += " " + shard;
  }
  const auto kept = std::min(nights.size(), static_cast<std::size_t>(std::max(most, 0)));
  nights.erase(nights.begin(), nights.end() - static_cast<std::ptrdiff_t>(kept));
  return nights;
}

class Reading {
 public:
  Reading(Sqlite& db, const std::vector<Night>& nights) : db_(db), nights_(nights) {}

  // By kernel and device.
  std::map<std::pair<std::string, std::string>, Family> read() && {
    for (std::size_t i = 0; i < nights_.size(); ++i) {
      for (const Id run : nights_[i].runs) read_ratios(i, run, read_cases(i, run));
    }
    for (auto& [name, family] : families_) {
      for (std::vector<Id>& cases : family.cases) std::sort(cases.begin(), cases.end());
      add_crashes(family);
    }
    return std::move(families_);
  }

 private:
  using FamilyOfCase = std::vector<std::pair<Id, Family*>>;  // sorted by token

  FamilyOfCase read_cases(std::size_t i, Id run) {
    FamilyOfCase family_of;
    for (cases_.with(run, kDrawnPhase); cases_.step();) {
      Family& family = families_[{cases_.text(2), nights_[i].device}];
      family.cases.resize(nights_.size());
      family.failed.resize(nights_.size());
      const Id token = cases_.number(0);
      family.cases[i].push_back(token);
      if (cases_.number(1) != 0) family.failed[i].insert(token);
      family_of.emplace_back(token, &family);
    }
    return family_of;
  }
  void read_ratios(std::size_t i, Id run, const FamilyOfCase& family_of) {
    auto at = family_of.begin();
    for (ratios_.with(run); ratios_.step();) {
      const Id token = ratios_.number(0);
      while (at != family_of.end() && at->first < token) ++at;
      if (at == family_of.end() || at->first != token) continue;  // of a drawn case
      auto& of_tensor = at->second->ratios[ratios_.text(1)];
      of_tensor.resize(nights_.size());
      if (!ratios_.is_null(2)) {
        of_tensor[i].emplace_back(token, ratios_.real(2));
      } else if (at->second->failed[i].contains(token)) {
        of_tensor[i].emplace_back(token, kInfinity);
      }
    }
  }

  // A case that left no ratio of a tensor that it has on another night, or has none on any.
  static void add_crashes(Family& family) {
    std::set<Id> failed, judged;
    for (const std::set<Id>& of_night : family.failed)
      failed.insert(of_night.begin(), of_night.end());
    if (failed.empty()) return;
    std::map<std::string, std::set<Id>> of_tensor;
    for (const auto& [tensor, nights] : family.ratios) {
      for (const Ratios& ratios : nights) {
        for (const auto& [token, ratio] : ratios) {
          if (failed.contains(token)) of_tensor[tensor].insert(token), judged.insert(token);
        }
      }
    }
    for (auto& [tensor, nights] : family.ratios) {
      for (std::size_t i = 0; i < nights.size(); ++i) {
        std::set<Id> here;
        for (const auto& [token, ratio] : nights[i]) here.insert(token);
        for (const Id token : family.failed[i]) {
          const bool is_owed = of_tensor[tensor].contains(token) || !judged.contains(token);
          if (is_owed && !here.contains(token)) nights[i].emplace_back(token, kInfinity);
        }
      }
    }
  }

  Sqlite& db_;
  const std::vector<Night>& nights_;
  std::map<std::pair<std::string, std::string>, Family> families_;
  // In the order of the primary key: sorted by token.
  SqliteStatement cases_{
      db_,
      "SELECT c.token, c.status IN ('failed', 'crashed', 'hung', 'flaky', 'xfail'), t.kernel "
      "FROM cases c JOIN tokens t ON t.id = c.token "
      "WHERE c.run = ? AND c.phase <> ? AND c.status NOT IN ('infra', 'skipped') ORDER BY c.token"};
  SqliteStatement ratios_{db_,
                          "SELECT token, tensor, ratio FROM ratios WHERE run = ? ORDER BY token"};
};

// Of sorted values: the least that at least this share is not over.
double quantile(const std::vector<double>& sorted, double share) {
  const double place = std::ceil(share * static_cast<double>(sorted.size())) - 1;
  return sorted[static_cast<std::size_t>(std::max(place, 0.0))];
}

// Nothing where none of the cases has such a tensor any more.
std::optional<TrendPoint> point_of(const Night& night, const Comparable& same,
                                   const std::set<Id>& failed, const Ratios& ratios) {
  TrendPoint point{night.run, night.started, night.build};
  point.cases = static_cast<Id>(same.cases.size());
  for (const Id token : failed) {
    point.failed += std::binary_search(same.cases.begin(), same.cases.end(), token) ? 1 : 0;
  }
  std::vector<double> values;
  for (const auto& [token, ratio] : ratios) {
    if (std::binary_search(same.cases.begin(), same.cases.end(), token)) values.push_back(ratio);
  }
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  point.median = quantile(values, 0.5);
  point.p90 = quantile(values, 0.9);
  point.p99 = quantile(values, 0.99);
  point.largest = values.back();
  return point;
}

// Beyond it, and where there is no number, is one level.
constexpr double kBroken = 1e6;

// Where the middle or the tail of the cases moved.
std::vector<int> changes_of(const std::vector<TrendPoint>& points) {
  std::set<int> changes;
  for (double TrendPoint::*quantile : {&TrendPoint::median, &TrendPoint::p99}) {
    std::vector<double> values;
    for (const TrendPoint& point : points) {
      values.push_back(std::clamp(point.*quantile, kNoNews, kBroken));
    }
    for (const int at : change_points(values)) changes.insert(at);
  }
  return {changes.begin(), changes.end()};
}

std::vector<TrendLine> lines_of(Sqlite& db, int most_runs) {
  const std::vector<Night> nights = newest_nights(db, most_runs);
  std::vector<TrendLine> lines;
  for (const auto& [name, family] : Reading(db, nights).read()) {
    const Comparable same = comparable(family.cases);
    for (const auto& [tensor, ratios] : family.ratios) {
      TrendLine line{fmt::format("{} {} {}", name.first, name.second, tensor), {}, {}};
      for (const int i : same.runs) {
        const auto point = point_of(nights[i], same, family.failed[i], ratios[i]);
        if (point) line.points.push_back(*point);
      }
      line.changes = changes_of(line.points);
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

constexpr double kLeastShare = 0.75;  // of the leader's cases, common to all

Comparable led_by(int leader, const CasesOfRuns& cases_of_runs) {
  Comparable same{{leader}, cases_of_runs[leader]};
  for (int i = static_cast<int>(cases_of_runs.size()) - 1; i >= 0; --i) {
    const std::vector<Id>& cases = cases_of_runs[i];
    if (i == leader || cases.empty()) continue;
    std::vector<Id> common;
    std::set_intersection(same.cases.begin(), same.cases.end(), cases.begin(), cases.end(),
                          std::back_inserter(common));
    if (static_cast<double>(common.size()) <
        kLeastShare * static_cast<double>(cases_of_runs[leader].size())) {
      continue;
    }
    same.cases = std::move(common);
    same.runs.push_back(i);
  }
  std::sort(same.runs.begin(), same.runs.end());
  return same;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return quantile(values, 0.5);
}

std::vector<BucketLife> buckets_in(Sqlite& db) {
  SqliteStatement rows(db,
                       "SELECT b.bucket, r.id, r.started, c.at_s, c.status = 'flaky', "
                       "coalesce(s.token, t.token), r.repro_options FROM cases c "
                       "JOIN buckets b ON b.id = c.bucket JOIN runs r ON r.id = c.run "
                       "JOIN tokens t ON t.id = c.token LEFT JOIN tokens s ON s.id = c.shown "
                       "WHERE c.bucket IS NOT NULL AND c.status <> 'passed' "
                       "ORDER BY r.started, r.id, c.at_s");
  // A run that ran none of its cases knows nothing of it.
  SqliteStatement since(db,
                        "SELECT count(*) FROM runs r WHERE (r.started, r.id) > (?, ?) AND EXISTS ("
                        "SELECT 1 FROM buckets b JOIN cases old ON old.bucket = b.id "
                        "JOIN cases c ON c.run = r.id AND c.token = old.token "
                        "WHERE b.bucket = ? AND c.status NOT IN ('infra', 'skipped'))");
  struct Life : BucketLife {
    Id last_run = 0;
    std::vector<double> first_s;
  };
  std::map<std::string, Life> lives;
  while (rows.step()) {
    Life& life = lives[rows.text(0)];
    if (life.cases++ == 0) life.bucket = rows.text(0), life.first_seen = rows.text(2);
    if (life.last_run != rows.number(1)) {
      life.last_run = rows.number(1);
      life.last_seen = rows.text(2);
      ++life.runs_seen;
      life.first_s.push_back(rows.real(3));
    }
    life.flaky_rate += rows.real(4);
    const std::string token = rows.text(5);
    if (life.example.empty() || token.size() < life.example.size()) {
      life.example = token;
      life.repro_options = rows.text(6);
    }
  }
  std::vector<BucketLife> buckets;
  for (auto& [name, life] : lives) {
    life.flaky_rate /= static_cast<double>(life.cases);
    life.seconds_to_first = median(life.first_s);
    since.with(life.last_seen, life.last_run, name).step();
    life.runs_since = since.number(0);
    buckets.push_back(life);
  }
  std::stable_sort(buckets.begin(), buckets.end(), [](const BucketLife& a, const BucketLife& b) {
    return a.last_seen > b.last_seen;
  });
  return buckets;
}

}  // namespace

Comparable comparable(const CasesOfRuns& cases_of_runs) {
  constexpr int kCandidates = 14;
  const int count = static_cast<int>(cases_of_runs.size());
  Comparable best;
  double best_score = 0;
  std::set<int> tried;
  for (int i = count - 1; i >= std::max(0, count - kCandidates); --i) {
    if (cases_of_runs[i].empty() || tried.contains(i)) continue;
    Comparable led = led_by(i, cases_of_runs);
    // What has hardly more cases would lead the same.
    for (const int run : led.runs) {
      if (kLeastShare * static_cast<double>(cases_of_runs[run].size()) <=
          static_cast<double>(led.cases.size())) {
        tried.insert(run);
      }
    }
    const double score =
        static_cast<double>(led.runs.size()) * std::cbrt(static_cast<double>(led.cases.size()));
    if (score <= best_score) continue;
    best_score = score;
    best = std::move(led);
  }
  return best;
}

Trend trend_of(Sqlite& db, int most_runs) {
  const SqliteTransaction view(db, SqliteTransaction::kToRead);
  return {lines_of(db, most_runs), buckets_in(db)};
}

}  // namespace attest

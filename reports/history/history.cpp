#include "reports/history/history.hpp"

#include <algorithm>
#include <utility>

#include "reports/history/add_run.hpp"
#include "reports/history/migrations.hpp"
#include "reports/history/sqlite.hpp"
#include "reports/history/trend_of.hpp"

namespace attest {
namespace {

// What `body` returns, or the Trouble that it throws.
template <class T, class Body>
Result<T> caught(const Body& body) {
  try {
    return body();
  } catch (const Trouble& trouble) {
    return trouble;
  }
}

constexpr std::size_t kCostsOf = 5;  // runs: few enough to follow a faster kernel within days

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Status status_named(const std::string& name) {
  for (int s = 0; s < static_cast<int>(Status::kXpass); ++s) {
    if (to_string(static_cast<Status>(s)) == name) return static_cast<Status>(s);
  }
  return Status::kXpass;
}

}  // namespace

History::History(std::unique_ptr<Sqlite> db) : db_(std::move(db)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;

Result<History> History::open(const std::string& path) {
  return caught<History>([&] {
    auto db = std::make_unique<Sqlite>(path);
    migrate(*db, history_migrations());
    return History(std::move(db));
  });
}

Outcome History::add(const Results& results) {
  Outcome added = caught<Done>([&] {
    SqliteTransaction transaction(*db_, SqliteTransaction::kToWrite);
    add_run(*db_, results);
    transaction.commit();
    return Done{};
  });
  if (added.ok()) return added;
  return Trouble{added.trouble().kind,
                 added.trouble().text + "; nothing of this run was added, the rest is as it was"};
}

Result<Trend> History::trend(int most_runs) const {
  return caught<Trend>([&] { return trend_of(*db_, most_runs); });
}

Result<std::map<std::string, double, std::less<>>> History::costs(const std::string& device) const {
  return caught<std::map<std::string, double, std::less<>>>([&] {
    SqliteStatement cases(
        *db_,
        "SELECT tokens.token, cases.total_ms FROM runs "
        "JOIN cases ON cases.run = runs.id JOIN tokens ON tokens.id = cases.token "
        "WHERE runs.device = ? AND cases.status NOT IN ('infra', 'skipped') "
        "ORDER BY runs.started DESC, runs.id DESC");
    std::map<std::string, std::vector<double>, std::less<>> last;
    for (cases.with(device); cases.step();) {
      std::vector<double>& of_token = last[cases.text(0)];
      if (of_token.size() < kCostsOf) of_token.push_back(cases.real(1));
    }
    std::map<std::string, double, std::less<>> costs;
    for (auto& [token, ms] : last) costs.emplace(token, median(std::move(ms)));
    return costs;
  });
}

Result<std::vector<KeptRun>> History::runs(int most) const {
  return caught<std::vector<KeptRun>>([&] {
    SqliteStatement newest(
        *db_,
        "SELECT run, started, command, shard, device, machine, build, bounds, seconds, "
        "interrupted, id FROM runs ORDER BY started DESC, id DESC LIMIT ?");
    SqliteStatement counts(*db_,
                           "SELECT status, count(*) FROM cases WHERE run = ?1 GROUP BY status "
                           "UNION ALL SELECT status, cases FROM drawn WHERE run = ?1");
    std::vector<KeptRun> runs;
    for (newest.with(std::int64_t{most}); newest.step();) {
      KeptRun& run = runs.emplace_back();
      int column = 0;
      for (std::string* text : {&run.run, &run.started, &run.command, &run.shard, &run.device,
                                &run.machine, &run.build, &run.bounds}) {
        *text = newest.text(column++);
      }
      run.seconds = newest.real(8);
      run.tally.interrupted = newest.number(9) != 0;
      for (counts.with(newest.number(10)); counts.step();) {
        const Status status = status_named(counts.text(0));
        for (std::int64_t i = 0; i < counts.number(1); ++i) run.tally.add(status);
      }
    }
    std::reverse(runs.begin(), runs.end());
    return runs;
  });
}

}  // namespace attest

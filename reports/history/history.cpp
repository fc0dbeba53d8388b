#include "reports/history/history.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

// Of "nightly --tier smoke --schedules 8" the "8"; else nothing.
std::string_view schedules_in(std::string_view command) {
  constexpr std::string_view kOption = " --schedules ";
  const std::size_t at = command.find(kOption);
  if (at == std::string_view::npos) return {};
  command.remove_prefix(at + kOption.size());
  return command.substr(0, command.find(' '));
}

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

// Of a run whose shards "1/4" and "3/4" are here the others are missing.
void note_absent_shards(SqliteStatement& shards, KeptRun& run) {
  std::vector<std::string> here;
  while (shards.step()) here.push_back(shards.text(0));
  if (here.size() < 2 || here.front().empty()) return;
  const std::string& last = here.back();
  if (std::to_string(here.size()) == last.substr(last.find('/') + 1)) return;
  run.shard = fmt::format("{}", fmt::join(here, " "));
  run.tally.interrupted = true;
}

}  // namespace

History::History(std::unique_ptr<Sqlite> db) : db_(std::move(db)) {}
History::History(History&&) noexcept = default;
History& History::operator=(History&&) noexcept = default;
History::~History() = default;

Result<History> History::open(const std::string& path) {
  // SQLite would keep these in memory, or in a file of its own.
  if (path.empty() || path.starts_with(':') || path.starts_with("file:")) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("'{}' is no name of a file that a history can be kept in", path)};
  }
  return caught<History>([&] {
    auto db = std::make_unique<Sqlite>(path);
    check_owner(*db, history_migrations());
    if (!is_empty(*db)) migrate(*db, history_migrations());
    return History(std::move(db));
  });
}

Outcome History::add(const Results& results) {
  Outcome added = caught<Done>([&] {
    migrate(*db_, history_migrations());
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
  return caught<Trend>([&] { return is_empty(*db_) ? Trend{} : trend_of(*db_, most_runs); });
}

Result<Costs> History::costs(const std::string& device, const std::string& command,
                             const std::string& repro_options) const {
  return caught<Costs>([&] {
    Costs costs;
    if (is_empty(*db_)) return costs;
    SqliteStatement runs(*db_,
                         "SELECT id, command FROM runs WHERE device = ? AND repro_options = ? "
                         "ORDER BY started DESC, id DESC");
    // The time of what hung or crashed is that of who waited for it.
    SqliteStatement cases(
        *db_,
        "SELECT tokens.token, cases.total_ms FROM cases JOIN tokens ON tokens.id = cases.token "
        "WHERE cases.run = ? AND cases.status NOT IN ('infra', 'skipped', 'crashed', 'hung')");
    std::map<std::string, std::vector<double>, std::less<>> last;
    for (runs.with(device, repro_options); runs.step();) {
      if (schedules_in(runs.text(1)) != schedules_in(command)) continue;
      for (cases.with(runs.number(0)); cases.step();) {
        std::vector<double>& of_token = last[cases.text(0)];
        if (of_token.size() < kCostsOf) of_token.push_back(cases.real(1));
      }
    }
    for (auto& [token, ms] : last) costs.emplace(token, median(std::move(ms)));
    return costs;
  });
}

Result<std::vector<KeptRun>> History::runs(int most) const {
  return caught<std::vector<KeptRun>>([&] {
    std::vector<KeptRun> runs;
    if (is_empty(*db_)) return runs;
    SqliteStatement shards(*db_, "SELECT shard FROM shards WHERE run = ? ORDER BY shard");
    SqliteStatement newest(
        *db_,
        "SELECT run, started, command, shard, device, machine, build, bounds, seconds, "
        "interrupted, id FROM runs ORDER BY started DESC, id DESC LIMIT ?");
    SqliteStatement counts(*db_,
                           "SELECT status, count(*) FROM cases WHERE run = ?1 GROUP BY status "
                           "UNION ALL SELECT status, cases FROM drawn WHERE run = ?1");
    for (newest.with(std::int64_t{most}); newest.step();) {
      KeptRun& run = runs.emplace_back();
      int column = 0;
      for (std::string* text : {&run.run, &run.started, &run.command, &run.shard, &run.device,
                                &run.machine, &run.build, &run.bounds}) {
        *text = newest.text(column++);
      }
      run.seconds = newest.real(8);
      run.tally.interrupted = newest.number(9) != 0;
      note_absent_shards(shards.with(newest.number(10)), run);
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

#include "reports/history/add_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/run/phases.hpp"

namespace attest {
namespace {

using Id = std::int64_t;

class Adding {
 public:
  explicit Adding(Sqlite& db) : db_(db) {}

  void run(const Results& results) {
    shard_ = shard_of(results);
    run_ = id_of_run(results.header());
    std::map<std::string_view, std::int64_t> drawn;
    std::vector<std::pair<Id, const CaseRecord*>> kept;
    for (const CaseRecord& record : results.cases) {
      if (is_kept(record)) {
        kept.emplace_back(id_of_token(record.planned_token(), record), &record);
      } else {
        ++drawn[to_string(record.verdict.status)];
      }
    }
    // In the order of the primary key: pages are filled one after another, and full.
    std::sort(kept.begin(), kept.end());
    for (const auto& [token, record] : kept) add_case(token, *record);
    for (const auto& [status, cases] : drawn) drawn_.with(run_, shard_, status, cases).run();
    update(results);
  }

 private:
  static bool is_kept(const CaseRecord& record) {
    return record.phase != kDrawnPhase || !record.verdict.bucket.empty() ||
           is_finding(record.verdict.status) || record.verdict.status == Status::kFlaky;
  }

  // A time that is no number is one that was not measured.
  static double finite(double time) { return std::isfinite(time) ? time : 0; }

  // Shards that were merged are none.
  static std::string shard_of(const Results& results) {
    const std::string& first = results.header().shard;
    const bool is_one = std::all_of(results.runs.begin(), results.runs.end(),
                                    [&](const RunHeader& run) { return run.shard == first; });
    return is_one ? first : std::string{};
  }

  Id id_of_run(const RunHeader& h) {
    if (!find_run_.with(h.run).step()) {
      insert_run_
          .with(h.run, h.started, h.command, shard_, h.device, h.machine, h.build, h.bounds,
                h.repro_options)
          .run();
      return sqlite3_last_insert_rowid(db_.get());
    }
    return find_run_.number(0);
  }
  Id id_of_token(const std::string& token, const CaseRecord& record) {
    if (find_token_.with(token).step()) return find_token_.number(0);
    insert_token_.with(token, facts_of(record).kernel).run();
    return sqlite3_last_insert_rowid(db_.get());
  }
  Id id_of_bucket(const std::string& bucket) {
    if (find_bucket_.with(bucket).step()) return find_bucket_.number(0);
    insert_bucket_.with(bucket).run();
    return sqlite3_last_insert_rowid(db_.get());
  }

  void add_case(Id token, const CaseRecord& record) {
    const Verdict& v = record.verdict;
    std::optional<Id> bucket, shown;
    if (!v.bucket.empty()) bucket = id_of_bucket(v.bucket);
    if (record.token != record.planned_token()) shown = id_of_token(record.token, record);
    case_
        .with(run_, token, to_string(v.status), bucket, shown, record.phase,
              finite(record.total_ms), finite(v.kernel_ms), finite(record.at_s))
        .run();
    if (sqlite3_changes(db_.get()) == 0) return;  // it was there
    for (const Worst& worst : v.worst) {
      std::optional<double> ratio;
      if (std::isfinite(worst.ratio)) ratio = worst.ratio;
      ratio_.with(run_, token, worst.tensor, ratio).run();
    }
  }

  // Of one journal that was added before it was resumed, the longer one says how it ended.
  void update(const Results& results) {
    shard_row_.with(run_, shard_, Id(results.cases.size()), Id{results.tally.interrupted}).run();
    SqliteStatement(
        db_,
        "UPDATE runs SET seconds = max(seconds, ?1), shard = iif(shard = ?2, shard, ''), "
        "interrupted = (SELECT max(interrupted) FROM shards WHERE run = ?3) WHERE id = ?3")
        .with(finite(results.seconds), shard_, run_)
        .run();
  }

  Sqlite& db_;
  Id run_ = 0;
  std::string shard_;
  SqliteStatement find_run_{db_, "SELECT id FROM runs WHERE run = ?"};
  SqliteStatement insert_run_{
      db_,
      "INSERT INTO runs(run, started, command, shard, device, machine, build, bounds, "
      "repro_options, seconds, interrupted) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)"};
  SqliteStatement find_token_{db_, "SELECT id FROM tokens WHERE token = ?"};
  SqliteStatement insert_token_{db_, "INSERT INTO tokens(token, kernel) VALUES(?, ?)"};
  SqliteStatement find_bucket_{db_, "SELECT id FROM buckets WHERE bucket = ?"};
  SqliteStatement insert_bucket_{db_, "INSERT INTO buckets(bucket) VALUES(?)"};
  SqliteStatement case_{
      db_,
      "INSERT INTO cases VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(run, token) DO NOTHING"};
  SqliteStatement ratio_{
      db_, "INSERT INTO ratios VALUES(?, ?, ?, ?) ON CONFLICT(run, token, tensor) DO NOTHING"};
  SqliteStatement drawn_{db_,
                         "INSERT INTO drawn VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE "
                         "SET cases = max(cases, excluded.cases)"};
  SqliteStatement shard_row_{db_,
                             "INSERT INTO shards VALUES(?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                             "cases = excluded.cases, interrupted = excluded.interrupted "
                             "WHERE excluded.cases >= cases"};
};

}  // namespace

void add_run(Sqlite& db, const Results& results) {
  if (results.header().run.empty()) {
    throw Trouble{TroubleKind::kUsage,
                  "these results do not say which run they are of (an older attest's, or of "
                  "`attest judge`): a history keeps those of `attest nightly` and `attest run`"};
  }
  for (const RunHeader& one : results.runs) {
    if (one.run == results.header().run) continue;
    throw Trouble{
        TroubleKind::kUsage,
        fmt::format("these results are of several runs, {} and {}: which case is of which "
                    "is not known; add each file by itself",
                    results.header().run, one.run)};
  }
  Adding(db).run(results);
}

}  // namespace attest

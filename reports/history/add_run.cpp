#include "reports/history/add_run.hpp"

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
    run_ = id_of_run(results.header(), shard_of(results));
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
    for (const auto& [status, cases] : drawn) drawn_.with(run_, status, cases).run();
    update(results);
  }

 private:
  static bool is_kept(const CaseRecord& record) {
    return record.phase != kDrawnPhase || !record.verdict.bucket.empty() ||
           is_finding(record.verdict.status) || record.verdict.status == Status::kFlaky;
  }

  // Shards that were merged are none.
  static std::string shard_of(const Results& results) {
    const std::string& first = results.header().shard;
    const bool is_one = std::all_of(results.runs.begin(), results.runs.end(),
                                    [&](const RunHeader& run) { return run.shard == first; });
    return is_one ? first : std::string{};
  }

  Id id_of_run(const RunHeader& h, const std::string& shard) {
    if (!find_run_.with(h.run).step()) {
      insert_run_
          .with(h.run, h.started, h.command, shard, h.device, h.machine, h.build, h.bounds,
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
        .with(run_, token, to_string(v.status), bucket, shown, record.phase, record.total_ms,
              v.kernel_ms, record.at_s)
        .run();
    if (sqlite3_changes(db_.get()) == 0) return;  // it was there
    for (const Worst& worst : v.worst) {
      std::optional<double> ratio;
      if (std::isfinite(worst.ratio)) ratio = worst.ratio;
      ratio_.with(run_, token, worst.tensor, ratio).run();
    }
  }

  // Results that hold all cases that are known say how the run ended; those of another shard add to
  // that.
  void update(const Results& results) {
    SqliteStatement count(db_,
                          "SELECT (SELECT count(*) FROM cases WHERE run = ?1) + "
                          "(SELECT coalesce(sum(cases), 0) FROM drawn WHERE run = ?1)");
    count.with(run_).step();
    const bool holds_all = static_cast<Id>(results.cases.size()) >= count.number(0);
    SqliteStatement(db_,
                    "UPDATE runs SET seconds = max(seconds, ?), "
                    "interrupted = max(interrupted * ?, ?) WHERE id = ?")
        .with(results.seconds, Id{!holds_all}, Id{results.tally.interrupted}, run_)
        .run();
  }

  Sqlite& db_;
  Id run_ = 0;
  SqliteStatement find_run_{db_, "SELECT id FROM runs WHERE run = ?"};
  SqliteStatement insert_run_{
      db_,
      "INSERT INTO runs(run, started, command, shard, device, machine, build, bounds, "
      "repro_options, seconds, interrupted) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0)"};
  SqliteStatement find_token_{db_, "SELECT id FROM tokens WHERE token = ?"};
  SqliteStatement insert_token_{db_, "INSERT INTO tokens(token, kernel) VALUES(?, ?)"};
  SqliteStatement find_bucket_{db_, "SELECT id FROM buckets WHERE bucket = ?"};
  SqliteStatement insert_bucket_{db_, "INSERT INTO buckets(bucket) VALUES(?)"};
  SqliteStatement case_{db_, "INSERT OR IGNORE INTO cases VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)"};
  SqliteStatement ratio_{db_, "INSERT OR IGNORE INTO ratios VALUES(?, ?, ?, ?)"};
  SqliteStatement drawn_{db_,
                         "INSERT INTO drawn VALUES(?, ?, ?) ON CONFLICT DO UPDATE "
                         "SET cases = max(cases, excluded.cases)"};
};

}  // namespace

void add_run(Sqlite& db, const Results& results) {
  if (results.header().run.empty()) {
    throw Trouble{TroubleKind::kUsage,
                  "these results do not say which run they are of (an older attest's, or of "
                  "`attest judge`): a history keeps those of `attest nightly` and `attest run`"};
  }
  Adding(db).run(results);
}

}  // namespace attest

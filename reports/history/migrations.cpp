#include "reports/history/migrations.hpp"

#include <fmt/format.h>

#include <array>

namespace attest {
namespace {

constexpr std::int64_t kApplicationId = 0x61747374;  // "atst", for file(1) and us

// Texts that recur (tokens, buckets) are written once: a night of 1,000 cases has to stay small.
// WITHOUT ROWID: the primary key is the order in which rows are stored and read, and no second
// copy.
constexpr const char* kFirst = R"sql(
CREATE TABLE runs (
  id INTEGER PRIMARY KEY,
  run TEXT NOT NULL UNIQUE,      -- RunHeader::run
  started TEXT NOT NULL,         -- UTC, "2026-11-30T02:00:00Z": its order is that of time
  command TEXT NOT NULL,
  shard TEXT NOT NULL,           -- "2/4"; empty: all of it
  device TEXT NOT NULL,
  machine TEXT NOT NULL,
  build TEXT NOT NULL,
  bounds TEXT NOT NULL,
  repro_options TEXT NOT NULL,   -- that `attest repro` needs besides a token
  seconds REAL NOT NULL,
  interrupted INTEGER NOT NULL   -- planned cases did not end
);
CREATE INDEX runs_by_time ON runs(started, id);
CREATE TABLE tokens (
  id INTEGER PRIMARY KEY,
  token TEXT NOT NULL UNIQUE,
  kernel TEXT NOT NULL
);
CREATE TABLE buckets (
  id INTEGER PRIMARY KEY,
  bucket TEXT NOT NULL UNIQUE
);
-- Cases that ended. Of those that a fuzzer drew only those that are a finding: the rest is counted
-- in `drawn`.
CREATE TABLE cases (
  run INTEGER NOT NULL REFERENCES runs(id),
  token INTEGER NOT NULL REFERENCES tokens(id),    -- of the plan
  status TEXT NOT NULL,
  bucket INTEGER REFERENCES buckets(id),
  shown INTEGER REFERENCES tokens(id),             -- the token that showed it, where it is another
  phase TEXT NOT NULL,
  total_ms REAL NOT NULL,
  kernel_ms REAL NOT NULL,
  at_s REAL NOT NULL,                              -- since the run began
  PRIMARY KEY (run, token)
) WITHOUT ROWID;
CREATE INDEX cases_by_bucket ON cases(bucket) WHERE bucket IS NOT NULL;
CREATE TABLE ratios (
  run INTEGER NOT NULL REFERENCES runs(id),
  token INTEGER NOT NULL REFERENCES tokens(id),
  tensor TEXT NOT NULL,
  ratio REAL,                                      -- the case's largest error / bound; NULL: no finite number
  PRIMARY KEY (run, token, tensor)
) WITHOUT ROWID;
CREATE TABLE drawn (
  run INTEGER NOT NULL REFERENCES runs(id),
  status TEXT NOT NULL,
  cases INTEGER NOT NULL,
  PRIMARY KEY (run, status)
) WITHOUT ROWID;
)sql";

// Shards of one run share its id: what each of them drew, and whether it came to its end.
constexpr const char* kShards = R"sql(
CREATE TABLE shards (
  run INTEGER NOT NULL REFERENCES runs(id),
  shard TEXT NOT NULL,           -- "2/4"; empty: all of it
  cases INTEGER NOT NULL,        -- that had ended, drawn ones with them
  interrupted INTEGER NOT NULL,  -- planned cases did not end
  PRIMARY KEY (run, shard)
) WITHOUT ROWID;
INSERT INTO shards SELECT id, shard, 0, interrupted FROM runs;
ALTER TABLE drawn RENAME TO drawn_of_runs;
CREATE TABLE drawn (
  run INTEGER NOT NULL REFERENCES runs(id),
  shard TEXT NOT NULL,
  status TEXT NOT NULL,
  cases INTEGER NOT NULL,
  PRIMARY KEY (run, shard, status)
) WITHOUT ROWID;
INSERT INTO drawn SELECT d.run, r.shard, d.status, d.cases FROM drawn_of_runs d
  JOIN runs r ON r.id = d.run;
DROP TABLE drawn_of_runs;
)sql";

}  // namespace

std::span<const char* const> history_migrations() {
  static constexpr std::array kSteps = {kFirst, kShards};
  return kSteps;
}

void check_owner(Sqlite& db, std::span<const char* const> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  // In this order: another process may make it between two of these.
  const bool is_empty = db.number("SELECT count(*) FROM sqlite_master") == 0;
  const std::int64_t owner = db.number("PRAGMA application_id");
  const std::int64_t schema = db.number("PRAGMA user_version");
  if (owner != kApplicationId && !(is_empty && owner == 0)) {
    throw Trouble{TroubleKind::kUsage,
                  db.path() + ": another program's database, not a history of attest"};
  }
  if (schema > newest) {
    throw Trouble{TroubleKind::kUsage,
                  fmt::format("{}: schema {}, made by a newer attest; this one knows up to {}: "
                              "update it, or use another file",
                              db.path(), schema, newest)};
  }
}

bool is_empty(Sqlite& db) { return db.number("PRAGMA user_version") == 0; }

void migrate(Sqlite& db, std::span<const char* const> steps) {
  const auto newest = static_cast<std::int64_t>(steps.size());
  check_owner(db, steps);
  // A file that needs nothing is not locked: it may lie where nobody can write.
  while (db.number("PRAGMA user_version") < newest) {
    SqliteTransaction transaction(db, SqliteTransaction::kToWrite);
    const std::int64_t schema = db.number("PRAGMA user_version");  // another may have been faster
    if (schema < newest) {
      db.run(steps[static_cast<std::size_t>(schema)]);
      db.run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                         schema + 1)
                 .c_str());
    }
    transaction.commit();
  }
}

}  // namespace attest

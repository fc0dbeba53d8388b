#include "reports/history/sqlite.hpp"

#include <fmt/format.h>

#include <cstring>

namespace attest {
namespace {

constexpr int kWaitForOthersMs = 60'000;

// Of what the system refused: ": No such file or directory".
std::string system_text(sqlite3* db) {
  const int error = db != nullptr ? sqlite3_system_errno(db) : 0;
  return error != 0 ? fmt::format(": {}", std::strerror(error)) : std::string{};
}

}  // namespace

Sqlite::Sqlite(const std::string& path) : path_(path) {
  sqlite3* db = nullptr;
  const int code =
      sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  db_.reset(db);  // even a failed one is to be closed
  if (code != SQLITE_OK) fail();
  sqlite3_busy_timeout(db, kWaitForOthersMs);
  // The journal stays SQLite's default, a rollback journal: WAL needs memory that all writers
  // share, which no network file system has (sqlite.org/wal.html, "same host computer"), and a
  // cluster's nodes write one history. EXTRA also syncs the folder, so that a commit outlives a
  // power cut.
  run("PRAGMA synchronous=EXTRA; PRAGMA foreign_keys=ON");
}

void Sqlite::fail() const {
  const int code = db_ ? sqlite3_errcode(db_.get()) : SQLITE_NOMEM;
  const char* const text = db_ ? sqlite3_errmsg(db_.get()) : "out of memory";
  switch (code & 0xff) {
    case SQLITE_NOTADB:
      throw Trouble{TroubleKind::kUsage, path_ + ": not a history of attest"};
    case SQLITE_CORRUPT:
      throw Trouble{TroubleKind::kUsage,
                    fmt::format("{}: a damaged history ({}); `sqlite3 {} .recover` may save most "
                                "of it, or begin a new file",
                                path_, text, path_)};
    case SQLITE_BUSY:
      throw Trouble{TroubleKind::kInfra, fmt::format("{}: another process holds it since {} s ({})",
                                                     path_, kWaitForOthersMs / 1000, text)};
    default:
      throw Trouble{TroubleKind::kInfra,
                    fmt::format("{}: {}{}", path_, text, system_text(db_.get()))};
  }
}

void Sqlite::run(const char* sql) {
  if (sqlite3_exec(get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

std::int64_t Sqlite::number(const char* sql) {
  SqliteStatement statement(*this, sql);
  return statement.step() ? statement.number(0) : 0;
}

SqliteTransaction::~SqliteTransaction() {
  // Fails only where SQLite has rolled back by itself.
  if (open_) sqlite3_exec(db_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteTransaction::commit() {
  db_.run("COMMIT");
  open_ = false;
}

SqliteStatement::SqliteStatement(Sqlite& db, std::string_view sql) : db_(db) {
  sqlite3_stmt* statement = nullptr;
  check(
      sqlite3_prepare_v2(db.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr));
  statement_.reset(statement);
}

bool SqliteStatement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code != SQLITE_ROW && code != SQLITE_DONE) db_.fail();
  // A statement that is done holds its lock until it is reset.
  if (code == SQLITE_DONE) sqlite3_reset(statement_.get());
  return code == SQLITE_ROW;
}

std::string SqliteStatement::text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_.get(), column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),  // NOLINT: SQLite's UTF-8
          static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

void SqliteStatement::bind(int at, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), at, value));
}
void SqliteStatement::bind(int at, double value) {
  check(sqlite3_bind_double(statement_.get(), at, value));
}
void SqliteStatement::bind(int at, std::string_view value) {
  check(sqlite3_bind_text(statement_.get(), at, value.data(), static_cast<int>(value.size()),
                          SQLITE_TRANSIENT));
}

}  // namespace attest

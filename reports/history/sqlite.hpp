// Sqlite, SqliteStatement: a database file and what is asked of it, closed at the end of their
// scope. Each call throws a Trouble that names the file; History catches it.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/core/trouble.hpp"

namespace attest {

class Sqlite {
 public:
  // Makes the file if there is none.
  explicit Sqlite(const std::string& path);

  void run(const char* sql);  // one or more statements that give no rows
  std::int64_t number(const char* sql);
  const std::string& path() const { return path_; }
  sqlite3* get() const { return db_.get(); }
  // kUsage where the file is no database or damaged, else kInfra.
  [[noreturn]] void fail() const;

 private:
  struct Closer {
    void operator()(sqlite3* db) const { sqlite3_close(db); }
  };
  std::string path_;
  std::unique_ptr<sqlite3, Closer> db_;
};

// All or nothing: rolled back at the end of its scope unless committed.
class SqliteTransaction {
 public:
  // A writer takes its lock at the begin: of two readers that want to become writers, one would
  // fail.
  static constexpr const char* kToWrite = "BEGIN IMMEDIATE";
  static constexpr const char* kToRead = "BEGIN";  // one view of the file, whoever writes meanwhile
  SqliteTransaction(Sqlite& db, const char* begin) : db_(db) { db_.run(begin); }
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  void commit();

 private:
  Sqlite& db_;
  bool open_ = true;
};

class SqliteStatement {
 public:
  SqliteStatement(Sqlite& db, std::string_view sql);

  // Starts anew with these values for the question marks.
  template <class... T>
  SqliteStatement& with(const T&... values) {
    sqlite3_reset(statement_.get());
    int at = 0;
    (bind(++at, values), ...);
    return *this;
  }
  bool step();  // whether there is a row
  void run() {
    while (step()) {
    }
  }

  // Of the row, column from 0.
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double real(int column) const { return sqlite3_column_double(statement_.get(), column); }
  bool is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
  }
  std::string text(int column) const;

 private:
  void bind(int at, std::int64_t value);
  void bind(int at, double value);
  void bind(int at, std::string_view value);
  void bind(int at, const std::string& value) { bind(at, std::string_view(value)); }
  template <class T>
  void bind(int at, const std::optional<T>& value) {
    if (value) {
      bind(at, *value);
    } else {
      check(sqlite3_bind_null(statement_.get(), at));
    }
  }
  void check(int code) {
    if (code != SQLITE_OK) db_.fail();
  }

  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Sqlite& db_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
};

}  // namespace attest

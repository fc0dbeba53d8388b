// What a history file holds, as the steps that made it so.
#pragma once
#include <span>

#include "reports/history/sqlite.hpp"

namespace attest {

// The n-th leads from schema n to n + 1 (PRAGMA user_version). What is released is never edited: a
// change of the schema is another step at the end.
std::span<const char* const> history_migrations();

// Throws a Trouble kUsage where the file is another program's, or has a schema newer than `steps`
// know. One that is empty will do.
void check_owner(Sqlite& db, std::span<const char* const> steps);
bool is_empty(Sqlite& db);  // no step was made

// Brings the file to the newest schema, each step whole or not at all. Checks its owner.
void migrate(Sqlite& db, std::span<const char* const> steps);

}  // namespace attest

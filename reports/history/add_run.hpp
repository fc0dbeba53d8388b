// What History::add writes, within its transaction.
#pragma once
#include "reports/history/sqlite.hpp"
#include "reports/run/results.hpp"

namespace attest {

void add_run(Sqlite& db, const Results& results);  // throws a Trouble

}  // namespace attest

// A history in a file of its own.
#pragma once
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "reports/history/history.hpp"
#include "reports/history/sqlite.hpp"
#include "reports/history/test_runs.hpp"

namespace attest::test_runs {

class HistoryTest : public testing::Test {
 protected:
  HistoryTest() { std::filesystem::remove(path_); }
  ~HistoryTest() override { std::filesystem::remove(path_); }

  History open() {
    auto history = History::open(path_);
    EXPECT_TRUE(history.ok()) << history.trouble().text;
    return std::move(*history);
  }
  void add(const Results& results) {
    const Outcome added = open().add(results);
    EXPECT_TRUE(added.ok()) << added.trouble().text;
  }
  std::int64_t number(const char* sql) {
    Sqlite db(path_);
    return db.number(sql);
  }

  std::string path_ = testing::TempDir() + "history_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
};

}  // namespace attest::test_runs

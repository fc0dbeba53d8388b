// Writers of one history that are many, are killed, or find no room: nothing that was added is
// lost.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <ctime>
#include <filesystem>

#include "reports/history/history.hpp"
#include "reports/history/sqlite.hpp"
#include "reports/history/test_runs.hpp"

namespace attest {
namespace {

using test_runs::cases_of;
using test_runs::run_of;

constexpr int kCases = 50;  // of each run

class WritersTest : public testing::Test {
 protected:
  WritersTest() { remove(); }
  ~WritersTest() override { remove(); }
  void remove() {
    for (const char* suffix : {"", "-journal"}) std::filesystem::remove(path_ + suffix);
  }

  // The exit status of a process that does `body`; it leaves without a destructor.
  template <class Body>
  static pid_t start(const Body& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    return child;
  }
  static int wait(pid_t child) {
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return status;
  }

  bool add(int night) const {
    auto history = History::open(path_);
    return history.ok() && history->add(run_of(night, cases_of(kCases))).ok();
  }
  // Runs that are there, each of which must be so wholly, in a sound file.
  std::int64_t runs() const {
    Sqlite db(path_);
    SqliteStatement check(db, "PRAGMA integrity_check");
    EXPECT_TRUE(check.step());
    EXPECT_EQ(check.text(0), "ok");
    EXPECT_EQ(db.number("SELECT count(*) FROM pragma_foreign_key_check"), 0);
    if (db.number("SELECT count(*) FROM sqlite_master") == 0) return 0;  // none was ever added
    const std::int64_t runs = db.number("SELECT count(*) FROM runs");
    EXPECT_EQ(db.number("SELECT count(*) FROM cases"), runs * kCases);
    EXPECT_EQ(db.number("SELECT count(*) FROM ratios"), runs * kCases * 2);
    return runs;
  }

  std::string path_ = testing::TempDir() + "writers_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".db";
};

TEST_F(WritersTest, OfEightProcessesLoseNoRun) {
  constexpr int kProcesses = 8, kRuns = 5;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {  // the file is made by one of them
    children.push_back(start([&] {
      for (int i = 0; i < kRuns; ++i) {
        if (!add(process * kRuns + i)) return 1;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait(child), 0);
  EXPECT_EQ(runs(), kProcesses * kRuns);
}

// A child adds runs without end and tells of each; it is killed some microseconds after the
// `told`th.
std::int64_t told_until_killed(const std::function<bool(int)>& add, int told, long microseconds) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    for (int night = 0; add(night); ++night) {
      if (write(ends[1], "", 1) != 1) break;
    }
    _exit(1);
  }
  close(ends[1]);
  std::int64_t count = 0;
  char byte = 0;
  while (count < told && read(ends[0], &byte, 1) == 1) ++count;
  const timespec pause{0, microseconds * 1000};
  nanosleep(&pause, nullptr);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  while (read(ends[0], &byte, 1) == 1) ++count;  // of which it could still tell
  close(ends[0]);
  return count;
}

TEST_F(WritersTest, ThatAreKilledLoseNoRunThatWasAddedAndLeaveNoneInPart) {
  int kills = 0;
  for (const int told : {0, 1, 2, 5}) {
    for (const long microseconds : {0L, 300L, 1'100L, 2'300L, 5'700L}) {
      remove();
      const auto add_one = [&](int night) { return add(night); };
      const std::int64_t count = told_until_killed(add_one, told, microseconds);
      ASSERT_GE(count, told);
      // What a kill left half done is undone by whoever opens the file next.
      ASSERT_TRUE(History::open(path_).ok());
      const std::int64_t there = runs();
      EXPECT_GE(there, count);
      EXPECT_LE(there, count + 1);  // added, and not yet told of
      for (int night = 0; night < 8; ++night) EXPECT_TRUE(add(night));
      EXPECT_EQ(runs(), std::max<std::int64_t>(there, 8));
      ++kills;
    }
  }
  EXPECT_EQ(kills, 20);
}

// Killed by its own alarm in the middle of one long transaction, of which nothing may stay.
TEST_F(WritersTest, ThatIsKilledAfterItSpiltHalfARunLeavesTheFileAsItWas) {
  ASSERT_TRUE(add(0));
  const auto before = std::filesystem::file_size(path_);
  const pid_t child = start([&] {
    Sqlite db(path_);
    db.run("PRAGMA cache_size = 1; BEGIN IMMEDIATE");  // so that pages reach the file at once
    SqliteStatement insert(db, "INSERT INTO tokens(token, kernel) VALUES(?, 'k')");
    for (int i = 0; i < 5000; ++i) insert.with(std::string("spilt") + std::to_string(i)).run();
    raise(SIGKILL);
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(wait(child)));
  EXPECT_GT(std::filesystem::file_size(path_), before);  // it did spill
  EXPECT_EQ(runs(), 1);
  EXPECT_EQ(Sqlite(path_).number("SELECT count(*) FROM tokens"), kCases);
  EXPECT_EQ(std::filesystem::file_size(path_), before);
}

TEST_F(WritersTest, OnAFullDiskSaySoAndLoseNothing) {
  ASSERT_TRUE(add(0));
  const auto size = std::filesystem::file_size(path_);
  const auto add_within = [&](std::uintmax_t bytes) {
    return start([&, bytes] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{bytes, bytes};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
      auto history = History::open(path_);
      if (!history.ok()) return 3;
      const Outcome added = history->add(run_of(1, cases_of(20 * kCases)));
      if (added.ok()) return 4;
      return added.trouble().kind == TroubleKind::kInfra ? 0 : 5;
    });
  };
  EXPECT_EQ(wait(add_within(size)), 0);  // no room in the file
  EXPECT_EQ(wait(add_within(4096)), 0);  // nor in the journal
  EXPECT_EQ(runs(), 1);
  EXPECT_TRUE(add(1));
  EXPECT_EQ(runs(), 2);
}

TEST_F(WritersTest, CanBeReadBesides) {
  ASSERT_TRUE(add(0));
  auto reader = History::open(path_);
  Sqlite writer(path_);
  writer.run("BEGIN IMMEDIATE");
  EXPECT_EQ(reader->trend()->lines.size(), 2u);
  writer.run("ROLLBACK");
}

}  // namespace
}  // namespace attest

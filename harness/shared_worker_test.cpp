#include "harness/shared_worker.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

namespace attest {
namespace {

namespace fs = std::filesystem;

bool says(const SharedEnd& end, const std::string& part) {
  return end.text().find(part) != std::string::npos;
}

class Shared : public testing::Test {
 protected:
  Shared() {
    std::string name = testing::TempDir() + "attest-shared-XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~Shared() override {
    unsetenv("ATTEST_FAULT");
    fs::remove_all(folder_);
  }
  static SharedWorker crew_of(int crew, double limit_s = 300) {
    return {ATTEST_FAULTY_PROGRAM,
            {"worker", "--threads", "1", "--drawn", "--control-objects", ATTEST_CODE_OBJECT_DIR,
             "--crew", std::to_string(crew)},
            limit_s};
  }
  // A program that says it is ready, or not, reads one line, and says `answer`.
  std::string script(const std::string& ready, const std::string& answer) const {
    const std::string path = folder_ + "/worker";
    std::ofstream(path) << "#!/bin/sh\necho started >>" << folder_ << "/log\n"
                        << ready << "\nread line <&3\necho '" << answer << "' >&3\nread line <&3\n";
    fs::permissions(path, fs::perms::owner_all);
    return path;
  }
  int starts() const {
    std::ifstream log(folder_ + "/log");
    int count = 0;
    for (std::string line; std::getline(log, line);) ++count;
    return count;
  }

 private:
  std::string folder_;
};

TEST_F(Shared, AnswersEachThreadWithItsOwnCase) {
  SharedWorker worker = crew_of(3);
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int h = 1; h <= 4; ++h) {
    threads.emplace_back([&, token = "v1:k=mla_decode:h=" + std::to_string(h)] {
      for (int i = 0; i < 3; ++i) {
        const auto record = worker.run(token).record;
        right += record && record->token == token && record->verdict.status == Status::kPassed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 12);
}

TEST_F(Shared, ThatEndsAnswersNobodyAndIsStartedAgain) {
  setenv("ATTEST_FAULT", "segv@h=2", 1);
  SharedWorker worker = crew_of(2);
  EXPECT_TRUE(worker.run("v1:k=mla_decode:h=1").record);
  const SharedAnswer none = worker.run("v1:k=mla_decode:h=2");
  EXPECT_FALSE(none.record);
  ASSERT_TRUE(none.end);
  EXPECT_TRUE(says(*none.end, "ended by SIGSEGV")) << none.end->text();
  EXPECT_TRUE(says(*none.end, "its last words: about to fail")) << none.end->text();
  EXPECT_TRUE(says(*none.end, "in flight:\n  v1:k=mla_decode:h=2")) << none.end->text();
  const auto record = worker.run("v1:k=mla_decode:h=3").record;
  ASSERT_TRUE(record);
  EXPECT_EQ(record->verdict.status, Status::kPassed);
}

TEST_F(Shared, ThatDoesNotAnswerInTimeIsEnded) {
  setenv("ATTEST_FAULT", "loop@h=2", 1);
  SharedWorker worker = crew_of(2, 2);
  const SharedAnswer none = worker.run("v1:k=mla_decode:h=2");
  EXPECT_FALSE(none.record);
  ASSERT_TRUE(none.end);
  EXPECT_TRUE(says(*none.end, "no answer within 2 s to v1:k=mla_decode:h=2")) << none.end->text();
}

// What a lost device says of a case may be another case's doing.
TEST_F(Shared, ThatLostItsDeviceHasSaidNothing) {
  SharedWorker worker(script("echo '{\"ready\":\"sm_90\"}' >&3",
                             "{\"id\":0,\"token\":\"v1:k=mla_decode:h=1\",\"status\":\"crashed\","
                             "\"reason\":\"a fault\",\"leaves\":true}"),
                      {"worker"}, 60);
  const SharedAnswer none = worker.run("v1:k=mla_decode:h=1");
  EXPECT_FALSE(none.record);
  ASSERT_TRUE(none.end);
  EXPECT_TRUE(says(*none.end, "lost its device: crashed: a fault")) << none.end->text();
}

TEST_F(Shared, ThatSendsWhatIsNoAnswerIsOfNoUse) {
  for (const char* const answer : {"{\"id\":0,", "{\"id\":\"none\"}", "{\"id\":0,\"status\":7}"}) {
    SharedWorker worker(script("echo '{\"ready\":\"sm_90\"}' >&3", answer), {"worker"}, 2);
    const SharedAnswer none = worker.run("v1:k=mla_decode:h=1");
    EXPECT_FALSE(none.record) << answer;
    EXPECT_TRUE(none.end) << answer;
  }
}

// It is nobody's but must not be forgotten: the next case's.
TEST_F(Shared, ThatEndsBetweenTwoCasesTellsTheNext) {
  SharedWorker worker(script("echo '{\"ready\":\"sm_90\"}' >&3",
                             "{\"id\":0,\"token\":\"v1:k=mla_decode:h=1\",\"status\":\"passed\"}"
                             "' >&3; kill -SEGV $$; echo '"),
                      {"worker"}, 60);
  EXPECT_TRUE(worker.run("v1:k=mla_decode:h=1").record);
  const SharedAnswer none = worker.run("v1:k=mla_decode:h=2");
  EXPECT_FALSE(none.record);
  ASSERT_TRUE(none.end);
  EXPECT_TRUE(says(*none.end, "ended by SIGSEGV")) << none.end->text();
  EXPECT_TRUE(none.end->is_unexplained_after(Status::kPassed));
}

TEST_F(Shared, ThatWasKilledFromOutsideIsNoCasesDoing) {
  SharedWorker worker(script("echo '{\"ready\":\"sm_90\"}' >&3; read line <&3; kill -KILL $$", ""),
                      {"worker"}, 60);
  const SharedAnswer none = worker.run("v1:k=mla_decode:h=1");
  EXPECT_FALSE(none.record);
  EXPECT_FALSE(none.end);
}

TEST_F(Shared, ThatCannotBeginIsNotTriedAgain) {
  SharedWorker worker(script("exit 4", ""), {"worker"}, 60);
  for (int i = 0; i < 3; ++i) {
    const SharedAnswer none = worker.run("v1:k=mla_decode:h=1");
    EXPECT_FALSE(none.record);
    EXPECT_FALSE(none.end);
  }
  EXPECT_EQ(starts(), 1);
}

TEST(SharedEnd, IsUnexplainedWhereAllInFlightHaveEndedAloneAndNoneFailed) {
  const std::vector<std::string> three = {"a", "b", "c"};
  SharedEnd end("ended", three);
  EXPECT_FALSE(end.is_unexplained_after(Status::kPassed));
  EXPECT_FALSE(end.is_unexplained_after(Status::kVacuous));
  EXPECT_TRUE(end.is_unexplained_after(Status::kPassed)) << "the last says so";
  for (const Status known :
       {Status::kFailed, Status::kCrashed, Status::kHung, Status::kXfail, Status::kInfra}) {
    SharedEnd explained("ended", three);
    EXPECT_FALSE(explained.is_unexplained_after(Status::kPassed));
    EXPECT_FALSE(explained.is_unexplained_after(known));
    EXPECT_FALSE(explained.is_unexplained_after(Status::kPassed));
  }
}

}  // namespace
}  // namespace attest

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
        const auto record = worker.run(token);
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
  EXPECT_TRUE(worker.run("v1:k=mla_decode:h=1"));
  EXPECT_FALSE(worker.run("v1:k=mla_decode:h=2"));
  const auto record = worker.run("v1:k=mla_decode:h=3");
  ASSERT_TRUE(record);
  EXPECT_EQ(record->verdict.status, Status::kPassed);
}

TEST_F(Shared, ThatDoesNotAnswerInTimeIsEnded) {
  setenv("ATTEST_FAULT", "loop@h=2", 1);
  SharedWorker worker = crew_of(2, 2);
  EXPECT_FALSE(worker.run("v1:k=mla_decode:h=2"));
}

// What a lost device says of a case may be another case's doing.
TEST_F(Shared, ThatLostItsDeviceHasSaidNothing) {
  SharedWorker worker(script("echo '{\"ready\":\"sm_90\"}' >&3",
                             "{\"id\":0,\"token\":\"v1:k=mla_decode:h=1\",\"status\":\"crashed\","
                             "\"reason\":\"a fault\",\"leaves\":true}"),
                      {"worker"}, 60);
  EXPECT_FALSE(worker.run("v1:k=mla_decode:h=1"));
}

TEST_F(Shared, ThatCannotBeginIsNotTriedAgain) {
  SharedWorker worker(script("exit 4", ""), {"worker"}, 60);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(worker.run("v1:k=mla_decode:h=1"));
  EXPECT_EQ(starts(), 1);
}

}  // namespace
}  // namespace attest

#include "harness/nightly.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "reports/run/phases.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFirst = "v1:k=mla_decode:h=1";
constexpr const char* kSecond = "v1:k=mla_decode:h=2";

// What a nightly puts on record.
class Records : public Reporter {
 public:
  Records(std::vector<std::string>& begun, std::vector<CaseRecord>& ended, Tally& tally)
      : begun_(begun), ended_(ended), tally_(tally) {}
  void run_begin(const RunHeader& /*header*/) override {}
  void case_begin(std::int64_t /*index*/, const std::string& token) override {
    begun_.push_back(token);
  }
  void case_end(const CaseRecord& record) override { ended_.push_back(record); }
  void run_end(const Tally& tally, double /*seconds*/) override { tally_ = tally; }
  std::string trouble() const override { return {}; }

 private:
  std::vector<std::string>& begun_;
  std::vector<CaseRecord>& ended_;
  Tally& tally_;
};

class NightlyRun : public testing::Test {
 protected:
  NightlyRun() {
    fs::create_directories(folder_);
    task_.pool.program = ATTEST_FAULTY_PROGRAM;
    task_.pool.workers = {{"worker", "--threads", "1"}};
    task_.corpus = folder_ + "/corpus";
    setenv("ATTEST_LOG", (folder_ + "/log").c_str(), 1);
  }
  ~NightlyRun() override {
    unsetenv("ATTEST_FAULT");
    unsetenv("ATTEST_LOG");
    fs::remove_all(folder_);
  }

  void inject(const std::string& fault) { setenv("ATTEST_FAULT", fault.c_str(), 1); }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::string log() const {
    std::ifstream log(file("log"));
    return {std::istreambuf_iterator<char>(log), {}};
  }
  void wait_until_logged(const std::string& part) const {
    while (log().find(part) == std::string::npos) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  NightlyEnd run() {
    std::vector<std::unique_ptr<Reporter>> reporters;
    reporters.push_back(std::make_unique<Records>(begun_, ended_, tally_));
    return run_nightly(task_, ledger_, reporters, interrupts_);
  }

  std::string folder_ = testing::TempDir() + "nightly_test_" + std::to_string(getpid());
  NightlyTask task_;
  Ledger ledger_;
  std::atomic<int> interrupts_{0};
  std::vector<std::string> begun_;
  std::vector<CaseRecord> ended_;
  Tally tally_;
};

TEST_F(NightlyRun, DoesNotRunACaseThatEndsNightlies) {
  task_.plan = {{kFirst, "smoke", 1}, {kSecond, "smoke", 1}};
  task_.given_up = {kFirst, "v1:k=mla_decode:h=3"};
  EXPECT_EQ(run().ended, 2);
  EXPECT_EQ(log(), std::string(kSecond) + "\n");
  ASSERT_EQ(ended_.size(), 2u);
  EXPECT_EQ(ended_[0].token, kFirst);
  EXPECT_EQ(ended_[0].phase, "smoke");
  EXPECT_EQ(ended_[0].verdict.status, Status::kInfra);
  EXPECT_NE(ended_[0].verdict.reason.find("mla_decode: it ran when the nightly was killed"),
            std::string::npos);
  EXPECT_EQ(ended_[1].verdict.status, Status::kPassed);
  EXPECT_FALSE(tally_.interrupted);
}

TEST_F(NightlyRun, LeavesACaseWhoseWorkerIsKilledWhileItStopsToTheNextRun) {
  inject("wait@h=2@" + file("never"));
  task_.plan = {{kFirst, "smoke", 1}, {kSecond, "smoke", 1}};
  std::thread stopper([&] {
    wait_until_logged(kSecond);
    interrupts_ = 1;
    std::ifstream children("/proc/self/task/" + std::to_string(getpid()) + "/children");
    for (pid_t child = 0; children >> child;) kill(child, SIGKILL);
  });
  run();
  stopper.join();
  ASSERT_EQ(ended_.size(), 1u);
  EXPECT_EQ(ended_[0].token, kFirst);
  EXPECT_EQ(begun_, (std::vector<std::string>{kFirst, kSecond}));
  EXPECT_TRUE(tally_.interrupted);
}

TEST_F(NightlyRun, KeepsWhatFuzzFoundWhenTheBudgetIsOverUnshrunk) {
  inject("wait@prop=@" + file("go") + ";segv@prop=");
  task_.budget_s = 15;
  const auto begin = std::chrono::steady_clock::now();
  std::thread opener([&] {
    wait_until_logged("prop=");
    std::this_thread::sleep_until(begin + std::chrono::seconds(16));
    std::ofstream(file("go")) << "go";
  });
  const NightlyEnd end = run();
  opener.join();
  ASSERT_EQ(end.kept.size(), 1u);
  const CaseRecord& last = ended_.back();
  EXPECT_EQ(last.verdict.status, Status::kCrashed) << last.verdict.reason;
  EXPECT_EQ(end.kept[0], last.token + "  # " + last.verdict.bucket);
  const std::string after = log().substr(log().find(last.token));
  EXPECT_EQ(std::count(after.begin(), after.end(), '\n'), 3) << after;  // twice, and the control
}

}  // namespace
}  // namespace attest

#include "harness/case_runner.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "harness/selection.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

class Isolated : public testing::Test {
 protected:
  Isolated() {
    std::string name = testing::TempDir() + "attest-isolated-XXXXXX";
    folder_ = mkdtemp(name.data());
    options_.program = ATTEST_FAULTY_PROGRAM;
    options_.workers = {
        {"worker", "--threads", "1", "--drawn", "--control-objects", ATTEST_CODE_OBJECT_DIR}};
  }
  ~Isolated() override {
    unsetenv("ATTEST_FAULT");
    fs::remove_all(folder_);
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  std::unique_ptr<CaseRunner> runner(double limit_s = 300) const {
    return isolated_runner(options_, limit_s, ledger_);
  }
  static CaseRecord run(CaseRunner& runner, const std::string& token) {
    return runner.run(*known_case(token));
  }

  PoolOptions options_;
  Ledger ledger_;

 private:
  std::string folder_;
};

TEST_F(Isolated, ACaseThatEndsItsProcessIsACrashWithItsTokenAndTheNextOnePasses) {
  setenv("ATTEST_FAULT", "segv@h=2", 1);
  const auto isolated = runner();
  EXPECT_EQ(run(*isolated, "v1:k=mla_decode:h=1").verdict.status, Status::kPassed);
  const CaseRecord crashed = run(*isolated, "v1:k=mla_decode:h=2");
  EXPECT_EQ(crashed.verdict.status, Status::kCrashed);
  EXPECT_EQ(crashed.verdict.bucket, "process.crash.sigsegv.mla_decode");
  EXPECT_EQ(crashed.token, "v1:k=mla_decode:h=2");
  EXPECT_EQ(run(*isolated, "v1:k=mla_decode:h=3").verdict.status, Status::kPassed);
}

TEST_F(Isolated, ACaseWithoutAnAnswerHangsAndTheNextOnePasses) {
  setenv("ATTEST_FAULT", "loop@h=2", 1);
  const auto isolated = runner(2);
  EXPECT_EQ(run(*isolated, "v1:k=mla_decode:h=2").verdict.bucket, "process.hang.all.mla_decode");
  EXPECT_EQ(run(*isolated, "v1:k=mla_decode:h=3").verdict.status, Status::kPassed);
}

TEST_F(Isolated, AWorkerThatCannotOpenItsDeviceIsTheMachinesTrouble) {
  options_.workers.front().insert(options_.workers.front().end(), {"--device", "emu:nope"});
  const auto isolated = runner();
  for (int i = 0; i < 2; ++i) {
    const CaseRecord record = run(*isolated, "v1:k=mla_decode:h=1");
    EXPECT_EQ(record.verdict.status, Status::kInfra);
    EXPECT_NE(record.verdict.reason.find("emu:nope"), std::string::npos) << record.verdict.reason;
  }
}

// A worker that is of no use after each case, as one is on a GPU behind a fault.
TEST_F(Isolated, AWorkerThatLeavesAfterACaseIsReplacedBeforeTheNext) {
  options_.program = file("worker");
  std::ofstream(options_.program)
      << "#!/bin/sh\n"
         "echo started >>"
      << file("log")
      << "\n"
         "echo '{\"ready\":\"gfx942\"}' >&3\n"
         "read line <&3\n"
         "echo '{\"token\":\"v1:k=mla_decode:h=1\",\"status\":\"crashed\",\"reason\":\"a fault\","
         "\"leaves\":true}' >&3\n"
         "read line <&3\n";
  fs::permissions(options_.program, fs::perms::owner_all);
  const auto isolated = runner(60);
  for (int i = 0; i < 3; ++i) {
    const CaseRecord record = run(*isolated, "v1:k=mla_decode:h=1");
    EXPECT_EQ(record.verdict.status, Status::kCrashed);
    EXPECT_EQ(record.tries, 1);
  }
  std::ifstream log(file("log"));
  int starts = 0;
  for (std::string line; std::getline(log, line);) ++starts;
  EXPECT_EQ(starts, 3);
}

TEST(Devices, TellTheirTargetByTheirName) {
  EXPECT_EQ(target_of_device("emu:gfx90a"), "gfx90a");
  EXPECT_EQ(target_of_device("cuda:3"), "sm_90");
  EXPECT_EQ(target_of_device("hip:0"), "");
}

TEST(Devices, ThatAreNotHereSayWhy) {
  EXPECT_TRUE(facts_of_device("emu:gfx942")->is_emulated);
  EXPECT_EQ(facts_of_device("emu:gfx942")->target, "gfx942");
  const auto none = facts_of_device("cuda:99");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.trouble().kind, TroubleKind::kInfra);
}

}  // namespace
}  // namespace attest

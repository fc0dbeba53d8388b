#include "harness/case_runner.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "harness/selection.hpp"
#include "harness/shared_worker.hpp"

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

// What a case comes to alone, by its token.
class Alone final : public CaseRunner {
 public:
  explicit Alone(std::map<std::string, Status> statuses) : statuses_(std::move(statuses)) {}
  CaseRecord run(const Case& c) override {
    CaseRecord record{to_token(c), {}, 1};
    record.verdict.status = statuses_.at(record.token);
    return record;
  }

 private:
  std::map<std::string, Status> statuses_;
};

constexpr const char* kOne = "v1:k=mla_decode:h=1";
constexpr const char* kTwo = "v1:k=mla_decode:h=2";

class Beside : public Isolated {
 protected:
  ~Beside() override { unsetenv("ATTEST_LOG"); }
  std::shared_ptr<SharedWorker> crew() const {
    auto arguments = options_.workers.front();
    arguments.insert(arguments.end(), {"--crew", "2"});
    return std::make_shared<SharedWorker>(options_.program, arguments, 300);
  }
  // That answers its first case so.
  std::shared_ptr<SharedWorker> answering(const std::string& status) const {
    const std::string path = file("answers");
    std::ofstream(path) << "#!/bin/sh\necho '{\"ready\":\"sm_90\"}' >&3\nread line <&3\n"
                        << "echo '{\"id\":0,\"token\":\"" << kTwo << "\",\"status\":\"" << status
                        << "\",\"reason\":\"mla_decode: why\",\"bucket\":\"a.b.c.mla_decode\"}' "
                        << ">&3\nread line <&3\n";
    fs::permissions(path, fs::perms::owner_all);
    return std::make_shared<SharedWorker>(path, std::vector<std::string>{"worker"}, 60);
  }
  static std::unique_ptr<CaseRunner> alone(std::map<std::string, Status> statuses) {
    return std::make_unique<Alone>(std::move(statuses));
  }
  // Both are in flight in one process when the second ends it.
  std::pair<CaseRecord, CaseRecord> run_both(Status one, Status two) {
    setenv("ATTEST_LOG", file("log").c_str(), 1);
    setenv("ATTEST_FAULT", ("wait@h=1@" + file("never") + ";segv@h=2").c_str(), 1);
    const auto shared = crew();
    std::pair<CaseRecord, CaseRecord> records;
    std::thread first([&] {
      records.first = run(*shared_runner(shared, alone({{kOne, one}})), kOne);
    });
    for (std::string line; line != kOne;) {
      std::ifstream log(file("log"));
      std::getline(log, line);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    records.second = run(*shared_runner(shared, alone({{kTwo, two}})), kTwo);
    first.join();
    return records;
  }
};

TEST_F(Beside, AnEndThatNoCaseOfItExplainsAloneIsNotGreen) {
  const auto [one, two] = run_both(Status::kPassed, Status::kPassed);
  const bool is_first = one.verdict.status == Status::kInfra;
  const Verdict& told = is_first ? one.verdict : two.verdict;
  EXPECT_EQ((is_first ? two : one).verdict.status, Status::kPassed);
  EXPECT_EQ(told.status, Status::kInfra);
  for (const char* const part : {"mla_decode: a process that runs cases beside each other",
                                 "ended by SIGSEGV", "about to fail", kOne, kTwo, "none failed"}) {
    EXPECT_NE(told.reason.find(part), std::string::npos) << part << " in " << told.reason;
  }
}

TEST_F(Beside, AnEndThatACaseExplainsAloneLeavesTheOtherItsVerdict) {
  const auto [one, two] = run_both(Status::kPassed, Status::kCrashed);
  EXPECT_EQ(one.verdict.status, Status::kPassed);
  EXPECT_EQ(two.verdict.status, Status::kCrashed);
}

TEST_F(Beside, ACrashThatDoesNotComeAgainAloneIsNotGreen) {
  setenv("ATTEST_FAULT", ("segv@h=2@" + file("once")).c_str(), 1);
  const auto both = shared_runner(crew(), runner());
  EXPECT_EQ(run(*both, kOne).verdict.status, Status::kPassed);
  EXPECT_EQ(run(*both, kTwo).verdict.status, Status::kInfra);
  EXPECT_EQ(run(*both, kTwo).verdict.status, Status::kPassed);
}

TEST_F(Beside, WhatIsNotRightGoesByHowItEndsAlone) {
  using enum Status;
  const struct {
    const char* beside;
    Status alone, verdict;
  } rows[] = {
      {"passed", kFailed, kPassed}, {"vacuous", kFailed, kVacuous}, {"failed", kCrashed, kCrashed},
      {"failed", kPassed, kFlaky},  {"crashed", kPassed, kFlaky},   {"failed", kXfail, kXfail},
      {"failed", kInfra, kFailed},  {"suspect", kFailed, kFailed},  {"suspect", kPassed, kSuspect},
      {"infra", kPassed, kInfra},   {"infra", kFailed, kFailed}};
  for (const auto& row : rows) {
    const CaseRecord record =
        run(*shared_runner(answering(row.beside), alone({{kTwo, row.alone}})), kTwo);
    EXPECT_EQ(record.verdict.status, row.verdict)
        << row.beside << " beside others, alone " << to_string(row.alone);
    const bool is_told =
        record.verdict.reason.find("beside it, alone it ended '" +
                                   std::string(to_string(row.alone))) != std::string::npos;
    EXPECT_EQ(is_told, row.verdict == kFlaky || row.verdict == kSuspect || row.verdict == kInfra ||
                           row.alone == kInfra)
        << record.verdict.reason;
  }
}

TEST_F(Beside, WhatIsRunAsItIsRunsAlone) {
  const auto shared = answering("passed");
  const auto both = shared_runner(shared, alone({{kTwo, Status::kFailed}}));
  EXPECT_EQ(both->run_as_is(*known_case(kTwo)).verdict.status, Status::kFailed);
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

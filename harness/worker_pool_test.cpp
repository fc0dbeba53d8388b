#include "harness/worker_pool.hpp"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "harness/device/device_list.hpp"
#include "harness/runner.hpp"
#include "harness/selection.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

// A list of cases, and how they ended.
class Jobs : public JobSource {
 public:
  explicit Jobs(const std::vector<std::string>& tokens, double limit_s = 300) {
    for (const std::string& token : tokens) jobs_.push_back({token, limit_s});
  }
  std::optional<Job> next() override {
    if (jobs_.empty()) return std::nullopt;
    Job job = jobs_.front();
    jobs_.pop_front();
    return job;
  }
  void ended(const Job& job, CaseRecord record) override {
    EXPECT_EQ(job.token, record.planned_token());
    EXPECT_TRUE(records.emplace(job.token, std::move(record)).second) << "it ended twice";
  }
  bool is_empty() const { return jobs_.empty(); }
  std::map<std::string, CaseRecord> records;

 private:
  std::deque<Job> jobs_;
};

const std::vector<std::string> kThree = {"v1:k=mla_decode:h=1", "v1:k=mla_decode:h=2",
                                         "v1:k=mla_decode:h=3"};

class Pool : public testing::Test {
 protected:
  Pool() {
    fs::create_directories(folder_);
    options_.program = ATTEST_FAULTY_PROGRAM;
    use(2);
  }
  ~Pool() override {
    unsetenv("ATTEST_FAULT");
    unsetenv("ATTEST_LOG");
    fs::remove_all(folder_);
  }

  void use(int workers) {
    options_.workers.assign(workers, {"worker", "--threads", "1", "--ledger", ledger_file_});
  }
  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  void inject(const std::string& fault) {
    setenv("ATTEST_FAULT", fault.c_str(), 1);
    setenv("ATTEST_LOG", file("log").c_str(), 1);
  }
  // How often the case ran.
  int runs_of(const std::string& token) const {
    std::ifstream log(file("log"));
    int runs = 0;
    for (std::string line; std::getline(log, line);) runs += line == token;
    return runs;
  }
  // Until all have ended, or nothing can run any more.
  Trouble run(Jobs& jobs) {
    WorkerPool pool(options_, jobs, ledger_);
    while (pool.trouble().text.empty() && (!jobs.is_empty() || pool.is_busy())) pool.step();
    return pool.trouble();
  }
  // Of the second of three cases; the others have passed.
  CaseRecord second_of_three(double limit_s = 300) {
    Jobs jobs(kThree, limit_s);
    EXPECT_EQ(run(jobs).text, "");
    EXPECT_EQ(jobs.records.size(), 3u);
    EXPECT_EQ(jobs.records[kThree[0]].verdict.status, Status::kPassed);
    EXPECT_EQ(jobs.records[kThree[2]].verdict.status, Status::kPassed);
    return jobs.records[kThree[1]];
  }

  std::string folder_ = testing::TempDir() + "pool_test_" + std::to_string(getpid());
  std::string ledger_file_ = "none";
  PoolOptions options_;
  Ledger ledger_;
};

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Pool, GivesTheVerdictsOfOneProcess) {
  std::vector<Case> cases =
      *select_cases({.tokens = {}, .suites = {"smoke"}, .match = "splits=2:dist"});
  cases.push_back(*known_case("v1:k=mla_decode:h=1:s=65:splits=2:prop=repeat"));
  cases.push_back(*known_case("v1:k=mla_decode:h=1:s=4096:splits=1:scale=10"));  // vacuous
  cases.push_back(*known_case("v1:k=aiter_bf16_gqa16:splits=2"));                // skipped
  std::vector<std::string> tokens;
  for (const Case& c : cases) tokens.push_back(to_token(c));
  Jobs jobs(tokens);
  EXPECT_EQ(run(jobs).text, "");
  const auto device = open_device(kDefaultDevice, {.threads = 1});
  ASSERT_TRUE(device.ok());
  const auto without_times = [](CaseRecord record) {
    record.total_ms = record.verdict.kernel_ms = 0;
    return to_line(to_json(record));
  };
  for (const Case& c : cases) {
    const CaseRecord here =
        run_case(c, **device, {ATTEST_CODE_OBJECT_DIR, 1, {}, true, {Arith::kFma}}, {});
    EXPECT_EQ(without_times(jobs.records[to_token(c)]), without_times(here));
  }
}

TEST_F(Pool, RecordsACaseThatCrashesTwiceAndRunsTheOthers) {
  inject("segv@h=2");
  const CaseRecord record = second_of_three();
  EXPECT_EQ(record.verdict.status, Status::kCrashed);
  EXPECT_EQ(record.verdict.bucket, "process.crash.sigsegv.mla_decode");
  EXPECT_TRUE(says(record.verdict.reason, "SIGSEGV")) << record.verdict.reason;
  EXPECT_TRUE(says(record.verdict.reason, "about to fail")) << record.verdict.reason;
  EXPECT_EQ(record.tries, 2);
  EXPECT_EQ(runs_of(kThree[1]), 2);
  EXPECT_EQ(runs_of(kThree[0]), 1);
  EXPECT_EQ(runs_of(std::string(kControlToken)), 1);
}

TEST_F(Pool, RecordsAnAbortAndAnExit) {
  inject("abort@h=2");
  EXPECT_EQ(second_of_three().verdict.bucket, "process.crash.sigabrt.mla_decode");
  inject("exit7@h=2");
  EXPECT_EQ(second_of_three().verdict.bucket, "process.crash.exit7.mla_decode");
}

TEST_F(Pool, NeverCallsACrashThatDoesNotComeAgainGreen) {
  inject("segv@h=2@" + file("once"));
  const CaseRecord record = second_of_three();
  EXPECT_EQ(record.verdict.status, Status::kInfra);
  EXPECT_TRUE(says(record.verdict.reason,
                   "SIGSEGV (Segmentation fault) once, then the case ended "
                   "'passed'"))
      << record.verdict.reason;
}

TEST_F(Pool, EndsAndRecordsACaseThatHangs) {
  inject("loop@h=2");
  constexpr double kLimit = 10;  // what a healthy case stays far below
  const CaseRecord record = second_of_three(kLimit);
  EXPECT_EQ(record.verdict.status, Status::kHung);
  EXPECT_EQ(record.verdict.bucket, "process.hang.all.mla_decode");
  EXPECT_TRUE(says(record.verdict.reason, "no answer within 10 s")) << record.verdict.reason;
}

TEST_F(Pool, EndsACaseThatTakesTooMuchMemory) {
  options_.memory_bytes = std::int64_t{1} << 29;
  inject("bomb@h=2");
  const CaseRecord record = second_of_three();
  EXPECT_EQ(record.verdict.status, Status::kInfra);
  EXPECT_TRUE(says(record.verdict.reason, "needs more than 0.5 GiB, twice"))
      << record.verdict.reason;
}

TEST_F(Pool, TakesAnUncaughtLackOfMemoryForWhatItIs) {
  inject("bad_alloc@h=2");
  const CaseRecord record = second_of_three();
  EXPECT_EQ(record.verdict.status, Status::kInfra);
  EXPECT_TRUE(says(record.verdict.reason, "got no more memory")) << record.verdict.reason;
}

TEST_F(Pool, StopsWhereTheControlCaseFailsToo) {
  inject("segv@v1");
  std::vector<std::string> many;
  for (int h = 1; h <= 20; ++h) many.push_back("v1:k=mla_decode:h=" + std::to_string(h));
  Jobs jobs(many);
  const Trouble trouble = run(jobs);
  EXPECT_TRUE(says(trouble.text, "3 cases in a row")) << trouble.text;
  EXPECT_LE(jobs.records.size(), 4u);
  for (const auto& [token, record] : jobs.records) {
    EXPECT_EQ(record.verdict.status, Status::kInfra);
    EXPECT_TRUE(says(record.verdict.reason, "it is the machine or the device"));
  }
}

TEST_F(Pool, AsksTheLedgerAboutACrash) {
  ledger_ = *Ledger::parse("tolerated bucket=process.crash.* issue=https://a expires=2027-01-01\n",
                           "ledger", std::chrono::year(2026) / 12 / 1);
  inject("segv@h=2");
  EXPECT_EQ(second_of_three().verdict.status, Status::kXfail);
}

TEST_F(Pool, SaysWhyNoWorkerStarts) {
  const auto why = [&] {
    Jobs jobs(kThree);
    const Trouble trouble = run(jobs);
    EXPECT_TRUE(jobs.records.empty());
    return trouble.text;
  };
  for (auto& worker : options_.workers) worker.insert(worker.end(), {"--device", "emu:gfx1"});
  EXPECT_TRUE(says(why(), "emu:gfx1"));
  for (auto& worker : options_.workers) worker = {"--help"};
  EXPECT_TRUE(says(why(), "started 3 times, exited with code 0 before it was ready"));
  options_.program = "/nowhere/attest";
  EXPECT_TRUE(says(why(), "/nowhere/attest: No such file or directory"));
}

// A process of this one's that has `part` in its command line and runs, or -1.
pid_t child_with(const std::string& part) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    std::ifstream status(entry.path() / "status"), command(entry.path() / "cmdline");
    std::string word, arguments((std::istreambuf_iterator<char>(command)), {});
    while (pid > 0 && status >> word && word != "PPid:") {
    }
    if (pid_t parent = 0; pid > 0 && status >> parent && parent == getpid() &&
                          arguments.find(part) != std::string::npos) {
      return pid;
    }
  }
  return -1;
}

TEST_F(Pool, AnswersForACaseWhoseWorkerIsKilledFromOutside) {
  use(1);
  inject("wait@h=2@" + file("go"));
  Jobs jobs(kThree);
  WorkerPool pool(options_, jobs, ledger_);
  while (runs_of(kThree[1]) == 0) pool.step();
  const pid_t worker = child_with("worker");
  ASSERT_GT(worker, 0);
  ASSERT_EQ(kill(worker, SIGKILL), 0);
  std::ofstream(file("go")) << "go";
  while (!jobs.is_empty() || pool.is_busy()) pool.step();
  const CaseRecord& record = jobs.records[kThree[1]];
  EXPECT_EQ(record.verdict.status, Status::kPassed);
  EXPECT_EQ(record.tries, 2);
  ASSERT_EQ(record.verdict.remarks.size(), 1u);
  EXPECT_TRUE(says(record.verdict.remarks[0], "killed from outside (SIGKILL)"));
  EXPECT_EQ(runs_of(kThree[0]), 1);
  EXPECT_EQ(runs_of(kThree[2]), 1);
}

TEST_F(Pool, WhereAllAreAskedToEndOnlyTheParentHearsIt) {
  use(1);
  inject("wait@h=2@" + file("go"));
  Jobs jobs(kThree);
  WorkerPool pool(options_, jobs, ledger_);
  while (runs_of(kThree[1]) == 0) pool.step();
  const pid_t worker = child_with("worker");
  for (const int request : {SIGTERM, SIGINT, SIGHUP}) ASSERT_EQ(kill(worker, request), 0);
  std::ofstream(file("go")) << "go";
  while (!jobs.is_empty() || pool.is_busy()) pool.step();
  EXPECT_EQ(jobs.records[kThree[1]].verdict.status, Status::kPassed);
  EXPECT_EQ(jobs.records[kThree[1]].tries, 1);
  EXPECT_EQ(runs_of(kThree[1]), 1);
}

// As after SIGSTOP of all, or on a computer that slept.
TEST_F(Pool, TakesNoTimeInWhichItStoodStillItselfForAHang) {
  use(1);
  inject("wait@h=2@" + file("go"));
  constexpr double kLimit = 10;  // what a healthy case stays far below
  Jobs jobs(kThree, kLimit);
  WorkerPool pool(options_, jobs, ledger_);
  while (runs_of(kThree[1]) == 0) pool.step();
  std::this_thread::sleep_for(std::chrono::duration<double>(kLimit + 1));
  pool.step();
  std::ofstream(file("go")) << "go";
  while (!jobs.is_empty() || pool.is_busy()) pool.step();
  EXPECT_EQ(jobs.records[kThree[1]].verdict.status, Status::kPassed);
  EXPECT_EQ(jobs.records[kThree[1]].tries, 1);
}

TEST_F(Pool, LeavesNoProcessBehind) {
  inject("loop@h=2");
  Jobs jobs(kThree);
  {
    WorkerPool pool(options_, jobs, ledger_);
    while (runs_of(kThree[1]) == 0) pool.step();
    EXPECT_GT(child_with("worker"), 0);
  }
  EXPECT_EQ(child_with("worker"), -1);
}

TEST_F(Pool, HandsNothingOutAgainAfterItWasAbandoned) {
  inject("loop@h=2");
  Jobs jobs(kThree);
  WorkerPool pool(options_, jobs, ledger_);
  while (runs_of(kThree[1]) == 0) pool.step();
  pool.kill_all();
  EXPECT_FALSE(pool.is_busy());
  EXPECT_FALSE(jobs.records.contains(kThree[1]));
}

}  // namespace
}  // namespace attest

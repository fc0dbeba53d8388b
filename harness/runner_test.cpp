#include "harness/runner.hpp"

#include <gtest/gtest.h>

#include "harness/fake_device.hpp"
#include "harness/selection.hpp"

namespace attest {
namespace {

// Notes what it is told; stops the run after some cases.
class Notes : public Reporter {
 public:
  explicit Notes(std::atomic<bool>* stop = nullptr, int after = 0) : stop_(stop), after_(after) {}
  void run_begin(const RunHeader&) override {}
  void case_begin(std::int64_t, const std::string& token) override {
    log.push_back("begin " + token);
  }
  void case_end(const CaseRecord& record) override {
    log.push_back("end " + std::string{to_string(record.verdict.status)});
    if (stop_ != nullptr && ++ended_ == after_) *stop_ = true;
  }
  void run_end(const Tally& tally, double) override { log.push_back(tally_text(tally)); }
  std::string trouble() const override { return {}; }
  std::vector<std::string> log;

 private:
  std::atomic<bool>* stop_;
  int after_, ended_ = 0;
};

std::vector<Case> three_cases() {
  return *select_cases(
      {{"v1:k=mla_decode:h=1", "v1:k=mla_decode:h=2", "v1:k=mla_decode:h=3"}, {}, {}});
}

TEST(RunCases, ReportEachCaseBeforeAndAfterItRuns) {
  // On this device nothing is launched, so that every output stays unwritten.
  FakeDevice device;
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(std::make_unique<Notes>());
  const std::vector<Case> cases = three_cases();
  const Tally tally = run_cases(cases, device, {"", 1, {}}, reporters);
  EXPECT_EQ(tally.failed, 3);
  EXPECT_EQ(exit_code(tally), 1);
  EXPECT_EQ(static_cast<Notes&>(*reporters[0]).log,
            (std::vector<std::string>{"begin v1:k=mla_decode:h=1", "end failed",
                                      "begin v1:k=mla_decode:h=2", "end failed",
                                      "begin v1:k=mla_decode:h=3", "end failed", "failed 3"}));
}

TEST(RunCases, FinishTheCaseThatRunsWhenStoppedAndBeginNoOther) {
  FakeDevice device;
  device.ends_with = {TroubleKind::kInfra, "no"};
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(std::make_unique<Notes>(&stop, 2));
  const Tally tally = run_cases(three_cases(), device, {"", 1, {}}, reporters, stop);
  EXPECT_EQ(tally.total(), 2);
  EXPECT_TRUE(tally.interrupted);
  EXPECT_EQ(static_cast<Notes&>(*reporters[0]).log.back(), "infra 2, interrupted");
}

TEST(RunCases, AreNotInterruptedByAStopAfterTheLastCase) {
  FakeDevice device;
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Reporter>> reporters;
  reporters.push_back(std::make_unique<Notes>(&stop, 3));
  EXPECT_FALSE(run_cases(three_cases(), device, {"", 1, {}}, reporters, stop).interrupted);
}

TEST(RunCases, LookIntoTheLedgerBeforeAndAfterEachCase) {
  FakeDevice device;
  const auto ledger = Ledger::parse(
      "quarantined token=v1:h=1 issue=https://a expires=2027-01-01\n"
      "tolerated bucket=*.unwritten.* token=*h=2* issue=https://a expires=2027-01-01\n",
      "ledger", std::chrono::year(2027) / 1 / 1);
  ASSERT_TRUE(ledger.ok());
  const Tally tally = run_cases(three_cases(), device, {"", 1, {}}, {}, stop_requested, *ledger);
  EXPECT_EQ(tally_text(tally), "failed 1, skipped 1, xfail 1");
}

}  // namespace
}  // namespace attest

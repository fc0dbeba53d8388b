#include "harness/worker_end.hpp"

#include <gtest/gtest.h>

#include <csignal>
#include <vector>

namespace attest {
namespace {

using Kind = WorkerEnd::Kind;

constexpr const char* kToken = "v1:k=mla_v4:h=2";
constexpr int kExit7 = 7 << 8;  // as waitpid has it

WorkerEnd answer(Status status) {
  CaseRecord record{kToken, {}, 5};
  record.verdict.status = status;
  if (status != Status::kPassed) record.verdict.reason = "mla_v4: why";
  if (status == Status::kFailed) record.verdict.bucket = "merge.wrong.all.mla_v4";
  return answered(record);
}

std::vector<Status> all_statuses() {
  std::vector<Status> all;
  for (int s = 0; s <= static_cast<int>(Status::kXpass); ++s) all.push_back(static_cast<Status>(s));
  return all;
}

// Every way to end without an answer.
std::vector<WorkerEnd> no_answers() {
  return {exited(SIGSEGV, false, "words of a crash"),
          exited(SIGABRT, false, ""),
          exited(kExit7, false, ""),
          no_answer(),
          hung(60),
          out_of_memory(std::int64_t{4} << 30),
          exited(SIGKILL, true, ""),
          exited(SIGKILL, false, "")};
}

bool is_of_the_kernel(const WorkerEnd& end) {
  return end.kind == Kind::kCrashed || end.kind == Kind::kHung;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

Decision after_control(const WorkerEnd& first, const WorkerEnd& second) {
  return decide(kToken, first, answer(Status::kPassed), second);
}

TEST(WorkerEnd, TellsWhatEndedAProcess) {
  EXPECT_EQ(exited(SIGSEGV, false, "").kind, Kind::kCrashed);
  EXPECT_EQ(exited(SIGSEGV, false, "").name, "sigsegv");
  EXPECT_EQ(exited(SIGSEGV, false, "").words, "ended by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(exited(SIGSEGV, true, "").kind, Kind::kCrashed) << "not by the killer";
  EXPECT_EQ(exited(kExit7, false, "").name, "exit7");
  EXPECT_EQ(exited(0, false, "").name, "exit0") << "nobody asked it to";
  EXPECT_EQ(exited(SIGKILL, false, "").kind, Kind::kKilled);
  EXPECT_EQ(exited(SIGTERM, false, "").kind, Kind::kKilled);
  EXPECT_EQ(exited(SIGTERM, true, "").words, "was killed from outside (SIGTERM)");
  EXPECT_EQ(exited(SIGHUP, false, "").kind, Kind::kKilled);
  EXPECT_EQ(exited(SIGINT, false, "").kind, Kind::kKilled);
  EXPECT_EQ(exited(SIGKILL, true, "").kind, Kind::kOutOfMemory);
  EXPECT_EQ(exited(SIGABRT, false, "what():  std::bad_alloc").kind, Kind::kOutOfMemory);
  EXPECT_EQ(exited(SIGABRT, false, "attest: internal error").kind, Kind::kCrashed);
}

TEST(WorkerEnd, IsTheMachinesWhereTheControlCaseDidNotPass) {
  std::vector<WorkerEnd> controls = no_answers();
  for (const Status status : all_statuses()) {
    if (status != Status::kPassed) controls.push_back(answer(status));
  }
  for (const WorkerEnd& first : no_answers()) {
    for (const WorkerEnd& control : controls) {
      const Decision decision = decide(kToken, first, control, std::nullopt);
      EXPECT_TRUE(decision.blames_machine);
      EXPECT_EQ(decision.record.verdict.status, Status::kInfra);
      EXPECT_EQ(decision.record.verdict.bucket, "");
      EXPECT_EQ(decision.record.token, kToken);
      EXPECT_TRUE(says(decision.record.verdict.reason, first.words));
      EXPECT_TRUE(says(decision.record.verdict.reason, control.words));
    }
  }
}

TEST(WorkerEnd, OfTwoCrashesOrHangsIsTheKernels) {
  for (const WorkerEnd& first : no_answers()) {
    for (const WorkerEnd& second : no_answers()) {
      const Decision decision = after_control(first, second);
      const Verdict& verdict = decision.record.verdict;
      EXPECT_FALSE(decision.blames_machine);
      EXPECT_EQ(decision.record.tries, 2);
      EXPECT_TRUE(says(verdict.reason, "mla_v4: its process " + second.words) ||
                  says(verdict.reason, "a fresh one " + second.words))
          << verdict.reason;
      if (!is_of_the_kernel(first) || !is_of_the_kernel(second)) {
        EXPECT_EQ(verdict.status, Status::kInfra) << verdict.reason;
        EXPECT_EQ(verdict.bucket, "");
      } else if (second.kind == Kind::kHung) {
        EXPECT_EQ(verdict.status, Status::kHung);
        EXPECT_EQ(verdict.bucket, "process.hang.all.mla_v4");
      } else {
        EXPECT_EQ(verdict.status, Status::kCrashed);
        EXPECT_EQ(verdict.bucket, "process.crash." + second.name + ".mla_v4");
      }
    }
  }
}

TEST(WorkerEnd, OfACrashQuotesItsLastWords) {
  const WorkerEnd crash = exited(SIGSEGV, false, "words of a crash");
  EXPECT_TRUE(says(after_control(crash, crash).record.verdict.reason, "words of a crash"));
}

TEST(WorkerEnd, OfACrashThatDoesNotComeAgainIsNeitherGreenNorHidesAFailure) {
  for (const WorkerEnd& first : no_answers()) {
    if (!is_of_the_kernel(first)) continue;
    for (const Status status : all_statuses()) {
      const CaseRecord record = after_control(first, answer(status)).record;
      EXPECT_TRUE(says(record.verdict.reason, first.words));
      EXPECT_EQ(record.verdict.status, is_failure(status) ? status : Status::kInfra);
      EXPECT_EQ(record.verdict.bucket, answer(status).record.verdict.bucket);
    }
  }
}

TEST(WorkerEnd, ThatTheCaseDidNotCauseLeavesTheAnswerOfTheFreshProcess) {
  for (const WorkerEnd& first : no_answers()) {
    if (is_of_the_kernel(first)) continue;
    for (const Status status : all_statuses()) {
      const CaseRecord record = after_control(first, answer(status)).record;
      EXPECT_EQ(record.verdict.status, status);
      EXPECT_EQ(record.verdict.reason, answer(status).record.verdict.reason);
      EXPECT_EQ(record.tries, 2);
      ASSERT_EQ(record.verdict.remarks.size(), 1u);
      EXPECT_TRUE(says(record.verdict.remarks[0], first.words));
    }
  }
}

TEST(WorkerEnd, OfACaseThatNeedsTooMuchMemorySaysHowMuchIsThere) {
  const WorkerEnd end = out_of_memory(std::int64_t{4} << 30);
  EXPECT_TRUE(says(after_control(end, end).record.verdict.reason, "needs more than 4 GiB, twice"));
}

}  // namespace
}  // namespace attest

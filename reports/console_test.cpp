// The console on a terminal and off it. What it says of each status: approved_test.cpp.
#include "reports/console.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace attest {
namespace {

CaseRecord record_of(const std::string& token, Status status, const std::string& phase = "") {
  CaseRecord record{.token = token, .verdict = {}, .total_ms = 5, .phase = phase};
  record.verdict.status = status;
  if (status == Status::kFailed) record.verdict.bucket = "merge.nan.all.k";
  if (status != Status::kPassed) record.verdict.reason = "o is wrong";
  return record;
}

void report(Reporter& reporter, std::int64_t cases, const std::vector<CaseRecord>& records) {
  Tally tally;
  reporter.run_begin({"run", "emu:gfx942", "a machine", cases});
  for (const CaseRecord& record : records) {
    reporter.case_begin(tally.total(), record.token);
    reporter.case_end(record);
    tally.add(record.verdict.status);
  }
  reporter.run_end(tally, 1.5);
}

// What it writes to a file.
std::string console_text(const ConsoleOptions& options, std::int64_t cases,
                         const std::vector<CaseRecord>& records) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const to = open_memstream(&text, &size);
  report(*make_console_reporter(to, options), cases, records);
  std::fclose(to);
  std::string made(text, size);
  std::free(text);
  return made;
}

// What a process writes to stdout and stderr where both are a terminal of 60 columns.
std::string on_a_terminal(const std::function<void()>& what) {
  int terminal = -1;
  winsize size = {.ws_row = 25, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
  std::fflush(nullptr);  // or the child writes what this process has not yet written
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    what();
    std::fflush(nullptr);
    _exit(0);
  }
  std::string text;
  char part[4096];
  for (ssize_t got = 0; (got = read(terminal, part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(got));
  }
  close(terminal);
  waitpid(child, nullptr, 0);
  return text;
}

const std::vector<CaseRecord> kTwo = {record_of("v1:k=a", Status::kPassed),
                                      record_of("v1:k=b", Status::kFailed)};
const char* const kGreen = "\033[32mpassed  \033[m v1:k=a";
const char* const kRed = "\033[1;31mfailed  \033[m v1:k=b";

class ConsoleTerminal : public testing::Test {
 protected:
  static std::string run(const char* term, const char* no_color,
                         const ConsoleOptions& options = {}) {
    return on_a_terminal([&] {
      setenv("TERM", term, 1);
      no_color == nullptr ? unsetenv("NO_COLOR") : setenv("NO_COLOR", no_color, 1);
      report(*make_console_reporter(stdout, options), 2, kTwo);
    });
  }
};

TEST_F(ConsoleTerminal, HasColourAndABarThatIsClearedBeforeEachLine) {
  const std::string text = run("xterm", nullptr);
  EXPECT_NE(text.find(kGreen), std::string::npos) << text;
  EXPECT_NE(text.find(kRed), std::string::npos) << text;
  EXPECT_NE(text.find("\r\033[K[>         ] 0/2  v1:k=a\r\033[K\033[32mpassed"), std::string::npos)
      << text;
  EXPECT_EQ(text.rfind("] 1/2"), text.find("] 1/2")) << text;
  EXPECT_NE(text.find("1/2"), std::string::npos) << text;
}

TEST_F(ConsoleTerminal, HasNoColourWhereNoColorSaysSomething) {
  const std::string text = run("xterm", "1");
  EXPECT_EQ(text.find("\033[32m"), std::string::npos) << text;
  EXPECT_NE(text.find("\r\033[Kpassed   v1:k=a"), std::string::npos) << text;  // the bar stays
  EXPECT_NE(run("xterm", "").find(kGreen), std::string::npos);                 // empty: not set
}

TEST_F(ConsoleTerminal, ThatIsDumbGetsNoEscapeCodes) {
  const std::string text = run("dumb", nullptr);
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_NE(text.find("passed   v1:k=a"), std::string::npos) << text;
  EXPECT_EQ(run("", nullptr).find('\033'), std::string::npos);
}

TEST_F(ConsoleTerminal, ObeysTheOption) {
  EXPECT_EQ(run("xterm", nullptr, {.colour = Colour::kNever}).find("\033[32m"), std::string::npos);
  EXPECT_NE(run("xterm", "1", {.colour = Colour::kAlways}).find(kGreen), std::string::npos);
}

TEST(Console, ToAFileHasNoEscapeCodesUnlessTheyAreAskedFor) {
  const std::string text = console_text({}, 2, kTwo);
  EXPECT_EQ(text.find('\033'), std::string::npos) << text;
  EXPECT_NE(console_text({.colour = Colour::kAlways}, 2, kTwo).find(kRed), std::string::npos);
}

TEST(Console, HoldsNothingThatATerminalWouldObey) {
  CaseRecord hostile = record_of("v1:k=\033]0;x\007", Status::kFailed);
  hostile.verdict.reason = "red \033[31m\r\nnext\tline\x7f";
  const std::string text = console_text({}, 1, {hostile});
  EXPECT_NE(text.find("failed   v1:k=\uFFFD]0;x\uFFFD  5 ms\n"
                      "         red \uFFFD[31m\uFFFD\n         next\tline\uFFFD\n"),
            std::string::npos)
      << text;
}

TEST(Console, OfManyCasesListsThoseThatDidNotPass) {
  std::vector<CaseRecord> records = {
      record_of("v1:k=a", Status::kPassed), record_of("v1:k=long_name", Status::kFailed),
      record_of("v1:k=b", Status::kFailed), record_of("v1:k=c", Status::kSkipped),
      record_of("v1:k=d", Status::kVacuous)};
  EXPECT_EQ(console_text({}, kMostListed + 1, records),
            "failed   v1:k=long_name  5 ms\n"
            "         o is wrong\n"
            "         bucket merge.nan.all.k\n"
            "         see it again: ./attest repro 'v1:k=long_name'\n"
            "failed   v1:k=b  again merge.nan.all.k\n"
            "vacuous  v1:k=d  5 ms\n"
            "         o is wrong\n"
            "         see it again: ./attest repro 'v1:k=d'\n"
            "5 of 201 cases: passed 1, vacuous 1, failed 2, skipped 1; 0 elements judged in 1.5 s\n"
            "buckets 1\n"
            "  merge.nan.all.k  2 cases\n"
            "    ./attest repro 'v1:k=b'\n");
  for (const std::string& text : {console_text({.verbose = true}, kMostListed + 1, records),
                                  console_text({}, kMostListed, records)}) {
    EXPECT_NE(text.find("passed   v1:k=a  5 ms\n"), std::string::npos) << text;
    EXPECT_NE(text.find("skipped  v1:k=c  5 ms\n"), std::string::npos) << text;
    EXPECT_NE(text.find("failed   v1:k=b  5 ms\n         o is wrong\n"), std::string::npos) << text;
  }
}

TEST(Console, CountsCasesThatAreDrawnAndPass) {
  const std::vector<CaseRecord> records = {record_of("v1:k=a", Status::kPassed, "smoke"),
                                           record_of("v1:k=b", Status::kPassed, "fuzz"),
                                           record_of("v1:k=c", Status::kFailed, "fuzz")};
  const std::string text = console_text({}, 1, records);
  EXPECT_NE(text.find("v1:k=a"), std::string::npos) << text;
  EXPECT_EQ(text.find("v1:k=b"), std::string::npos) << text;
  EXPECT_NE(text.find("v1:k=c"), std::string::npos) << text;
  EXPECT_NE(text.find("\n3 cases: passed 2, failed 1; "), std::string::npos) << text;
  EXPECT_NE(console_text({.verbose = true}, 1, records).find("v1:k=b"), std::string::npos);
}

TEST(Console, SaysThatThereAreRemarksAndListsThemWhenAsked) {
  std::vector<CaseRecord> records = {record_of("v1:k=a", Status::kPassed)};
  records[0].verdict.remarks = {"check lds_race: two waves write one value\n  at x.hip:3:1",
                                "other"};
  EXPECT_EQ(console_text({}, 1, records),
            "passed   v1:k=a  5 ms\n"
            "1 of 1 cases: passed 1; 0 elements judged in 1.5 s\n"
            "remarks on 1 case, of what no result can show: -v lists them\n");
  EXPECT_EQ(console_text({.verbose = true}, 1, records),
            "passed   v1:k=a  5 ms\n"
            "         remark check lds_race: two waves write one value\n"
            "         remark other\n"
            "1 of 1 cases: passed 1; 0 elements judged in 1.5 s\n");
}

TEST(Console, OnAFullDiskGoesOnAndSaysWhatTheTroubleWas) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  if (full == nullptr) GTEST_SKIP() << "no /dev/full";
  std::setvbuf(full, nullptr, _IONBF, 0);  // so that each print fails, not the flush alone
  const auto reporter = make_console_reporter(full, {});
  report(*reporter, 2, kTwo);
  std::fclose(full);
  EXPECT_EQ(reporter->trouble(), "No space left on device");
}

TEST(ConsoleDeathTest, GoesOnWhereStderrIsFull) {
  const auto run = [] {
    if (dup2(open("/dev/full", O_WRONLY | O_CLOEXEC), STDERR_FILENO) < 0) std::exit(77);
    report(*make_console_reporter(stdout, {}), 2, kTwo);
    std::exit(0);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace attest

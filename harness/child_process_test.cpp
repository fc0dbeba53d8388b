#include "harness/child_process.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace attest {
namespace {

ChildEnd end_of(const std::string& script, double limit_s = 30) {
  const auto end = run_child({"sh", "-c", script}, limit_s);
  EXPECT_TRUE(end.ok()) << (end.ok() ? "" : end.trouble().text);
  return end.ok() ? *end : ChildEnd{};
}

TEST(ChildProcess, KeepsBothOutputsAndTheExitCode) {
  const ChildEnd end = end_of("echo out; echo err >&2; exit 3");
  EXPECT_EQ(end.output, "out\nerr\n");
  EXPECT_EQ(end.exit_code, 3);
  EXPECT_EQ(end.signal, 0);
  EXPECT_FALSE(end.timed_out);
}

TEST(ChildProcess, TakesMoreOutputThanAPipeHolds) {
  EXPECT_EQ(end_of("head -c 300000 /dev/zero").output.size(), 300000u);
}

TEST(ChildProcess, HasNothingToReadOnItsInput) { EXPECT_EQ(end_of("cat").exit_code, 0); }

TEST(ChildProcess, SaysWhichSignalEndedIt) {
  const ChildEnd end = end_of("kill -ABRT $$");
  EXPECT_EQ(end.signal, 6);
  EXPECT_EQ(end.exit_code, -1);
}

TEST(ChildProcess, IsKilledWhenItsTimeIsOver) {
  const auto begin = std::chrono::steady_clock::now();
  const ChildEnd end = end_of("echo begun; exec sleep 100", 0.3);
  EXPECT_TRUE(end.timed_out);
  EXPECT_EQ(end.output, "begun\n");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(50));
}

TEST(ChildProcess, OfAProgramThatIsNotThereIsTrouble) {
  const auto end = run_child({"/nonexistent/program"}, 1);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.trouble().kind, TroubleKind::kInfra);
  EXPECT_EQ(end.trouble().text, "cannot start /nonexistent/program: No such file or directory");
}

}  // namespace
}  // namespace attest

// A mutant's failure as a program: red with the mutant's code object, green with the real one. So
// the program turns green when a kernel is repaired.
#include <gtest/gtest.h>

#include <filesystem>

#include "harness/device/emulator/emulator_device.hpp"
#include "harness/mutant_build.hpp"
#include "harness/standalone/standalone.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

class MutantProgram : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = (fs::temp_directory_path() / "attest-mutant-program-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static BuiltMutant built(const std::string& name) {
    const auto mutants = read_mutants(ATTEST_SOURCE_DIR "/fuzz/mutants");
    EXPECT_TRUE(mutants.ok());
    for (const Mutant& mutant : *mutants) {
      if (mutant.name != name) continue;
      auto made =
          build_mutant(mutant, {.target = "gfx942", .code_objects = ATTEST_CODE_OBJECT_DIR});
      EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.trouble().text);
      if (made.ok()) return *made;
    }
    ADD_FAILURE() << "no mutant " << name;
    return {ATTEST_CODE_OBJECT_DIR, nullptr};
  }

  std::string label(const Failure& failure, const std::string& code_objects) const {
    const std::string name = "mla_decode.gfx942.co";
    const auto end =
        write_standalone(failure, {folder_ + "/repro.cpp", code_objects + "/" + name, name});
    return end.ok() ? end->label : end.trouble().text;
  }

  void expect_red_by_the_kernel_alone(const BuiltMutant& mutant, const std::string& token) const {
    const auto device = emulator::make_device("gfx942", {.threads = 1});
    const auto c = parse_token(token);
    ASSERT_TRUE(c.ok()) << c.trouble().text;
    const auto kernel = mutant.make_kernel(c->kernel);
    const Failure failure =
        record_failure(*kernel, *device, *c, {.code_objects = mutant.code_objects(), .threads = 1});
    ASSERT_EQ(failure.verdict.status, Status::kFailed) << token << failure.verdict.reason;
    EXPECT_EQ(label(failure, mutant.code_objects()), "standalone: fails as recorded") << token;
    const std::string healthy = label(failure, ATTEST_CODE_OBJECT_DIR);
    EXPECT_TRUE(healthy.starts_with("NOT standalone: the program passes")) << token << healthy;
  }

  std::string folder_;
};

TEST_F(MutantProgram, TurnsGreenWithARepairedKernel) {
  const BuiltMutant mutant = built("drop_last_token");
  expect_red_by_the_kernel_alone(mutant, "v1:k=mla_decode:h=1:s=90:splits=2:dist=needles");
  expect_red_by_the_kernel_alone(mutant, "v1:k=mla_decode:h=1:s=20:q=2:splits=1:prop=mtp_rows");
}

// The first launch in which the mutant shows is a replay of a graph.
TEST_F(MutantProgram, RepeatsATrajectory) {
  expect_red_by_the_kernel_alone(built("drop_last_token"),
                                 "v1:k=mla_decode:h=1:s=20:splits=1:steps=capture.grow0,2.replay3");
}

}  // namespace
}  // namespace attest

// That a built mutant is the edit, whole and nothing else: red where the edit is wrong, green where
// it is right.
#include "harness/mutant_build.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "harness/device/device_list.hpp"
#include "harness/mutant_compile.hpp"
#include "harness/verify.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

// Builds into a cache of its own, so that each test builds.
class MutantBuild : public testing::Test {
 protected:
  MutantBuild() {
    std::string name = testing::TempDir() + "attest-mutants-XXXXXX";
    cache_ = mkdtemp(name.data());
  }
  ~MutantBuild() override {
    fs::remove_all(cache_);
    fs::remove_all(folder("elsewhere"));
  }

  BuildOptions options() const {
    return {.target = "gfx942", .code_objects = ATTEST_CODE_OBJECT_DIR, .cache_dir = cache_};
  }

  // One of fuzz/mutants/.
  static Mutant named(const std::string& name) {
    const auto mutants = read_mutants(ATTEST_SOURCE_DIR "/fuzz/mutants");
    EXPECT_TRUE(mutants.ok()) << mutants.trouble().text;
    for (const Mutant& mutant : *mutants) {
      if (mutant.name == name) return mutant;
    }
    ADD_FAILURE() << "no mutant " << name;
    return {};
  }
  static Mutant benign(const std::string& edits) {
    const auto mutant = parse_mutant("m", "defect: none\nclass: BENIGN\n" + edits);
    EXPECT_TRUE(mutant.ok()) << mutant.trouble().text;
    return *mutant;
  }

  static Verdict run(const BuiltMutant& built, const std::string& token) {
    auto device = open_device("emu:gfx942", {.threads = 1});
    const auto c = parse_token(token);
    EXPECT_TRUE(device.ok() && c.ok()) << token;
    const auto kernel = built.make_kernel(c->kernel);
    return verify(*kernel, **device, *c, {.code_objects = built.code_objects(), .threads = 1});
  }
  Verdict run(const Mutant& mutant, const std::string& token) const {
    const auto built = build_mutant(mutant, options());
    if (!built.ok()) return verdict_of(built.trouble(), mutant.name);
    return run(*built, token);
  }
  std::string folder(const std::string& name) const { return cache_ + "-" + name; }
  std::size_t built_folders() const {
    std::size_t folders = 0;
    std::error_code none;
    for (const auto& of_kind : fs::directory_iterator(cache_, none)) {
      for (const auto& entry : fs::directory_iterator(of_kind)) folders += entry.is_directory();
    }
    return folders;
  }

 private:
  std::string cache_;
};

constexpr const char* kToken =
    "v1:k=mla_decode:h=5:s=300,65:q=2:splits=8:grid=split_minor:dist=needles";

TEST_F(MutantBuild, AnEditOfDeviceCodeTurnsACaseRedThatItsAbsenceLeavesGreen) {
  const Verdict verdict = run(named("drop_last_token"), kToken);
  EXPECT_EQ(verdict.status, Status::kFailed) << verdict.reason;
  const BuiltMutant unedited(ATTEST_CODE_OBJECT_DIR, nullptr);
  EXPECT_EQ(run(unedited, kToken).status, Status::kPassed);
}

TEST_F(MutantBuild, AnEditOfALauncherTurnsACaseRed) {
  const Verdict verdict = run(named("lse_left_in_the_workspace"), kToken);
  EXPECT_EQ(verdict.status, Status::kFailed) << verdict.reason;
  // The merged lse lies over that of the first splits.
  EXPECT_NE(verdict.reason.find("partial_lse wrong"), std::string::npos) << verdict.reason;
}

TEST_F(MutantBuild, AnotherHeadTileIsSeenByContractAndGridAlike) {
  const Verdict verdict =
      run(named("benign_head_tile_of_16_only"), "v1:k=mla_decode:h=64:s=100:splits=2");
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
}

TEST_F(MutantBuild, ArgumentsThatBothSidesReadAreRebuiltOnBothSides) {
  const Mutant swapped = benign(
      "--- kernels/mla_decode/arguments.hpp\n"
      "-  int h;\n-  int block_s;  // splits weighed at a time: a power of two, at most "
      "kMaxBlockS\n"
      "+  int block_s;  // splits weighed at a time: a power of two, at most kMaxBlockS\n+  int "
      "h;\n"
      "--- kernels/mla_decode/launch.cpp\n"
      "-          .h = problem.h_q,\n-          .block_s = block_s_rule(num_splits)};\n"
      "+          .block_s = block_s_rule(num_splits),\n+          .h = problem.h_q};\n");
  const Verdict verdict = run(swapped, kToken);
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
}

TEST_F(MutantBuild, TwoBuildsOfOneKeyLeaveOneFolderAndAThirdReusesIt) {
  const Mutant mutant = named("drop_last_token");
  auto other = std::async(std::launch::async, [&] { return build_mutant(mutant, options()); });
  const auto mine = build_mutant(mutant, options());
  const auto theirs = other.get();
  ASSERT_TRUE(mine.ok() && theirs.ok());
  EXPECT_EQ(built_folders(), 2u);  // and the unedited kernel's
  const auto written = fs::last_write_time(mine->code_objects());
  const auto third = build_mutant(mutant, options());
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->code_objects(), mine->code_objects());
  EXPECT_EQ(fs::last_write_time(third->code_objects()), written);
}

TEST_F(MutantBuild, WhatDoesNotCompileIsTheUsersTroubleWithTheCompilersWords) {
  const char* const places[][2] = {
      {"kernels/mla_decode/stage2.hpp", "  if (!query.exists) return;"},
      {"kernels/mla_decode/launch.cpp", "  int d_split = 1;"}};
  for (const auto& [path, line] : places) {
    const auto built = build_mutant(
        benign(std::string("--- ") + path + "\n " + line + "\n+  no_such_name();\n"), options());
    ASSERT_FALSE(built.ok()) << path;
    EXPECT_EQ(built.trouble().kind, TroubleKind::kUsage);
    EXPECT_NE(built.trouble().text.find("m.mutant does not compile"), std::string::npos)
        << built.trouble().text;
    EXPECT_NE(built.trouble().text.find("no_such_name"), std::string::npos) << built.trouble().text;
  }
  EXPECT_EQ(built_folders(), 0u);
}

TEST_F(MutantBuild, AnEditOfNothingThatIsBuiltIsAnError) {
  const auto built = build_mutant(
      benign("--- kernels/mla_decode/contract.md\n-## Tensors\n+## Buffers\n"), options());
  ASSERT_FALSE(built.ok());
  EXPECT_NE(built.trouble().text.find("edits nothing that is built"), std::string::npos);
}

TEST_F(MutantBuild, WhatIsBuiltIsFoundWhereverTheTreeLies) {
  const auto here = build_mutant(named("lse_left_in_the_workspace"), options());
  ASSERT_TRUE(here.ok());
  const std::string elsewhere = folder("elsewhere");
  for (const char* part : {"kernels", "harness/core"}) {
    fs::create_directories(fs::path(elsewhere) / part);
    fs::copy(fs::path(ATTEST_SOURCE_DIR) / part, fs::path(elsewhere) / part,
             fs::copy_options::recursive);
  }
  BuildOptions moved = options();
  moved.source_dir = elsewhere;
  const auto again = build_mutant(named("lse_left_in_the_workspace"), moved);
  ASSERT_TRUE(again.ok()) << again.trouble().text;
  EXPECT_EQ(again->launcher_path(), here->launcher_path());
  EXPECT_EQ(built_folders(), 1u);
  // What no launcher is made of changes none of them.
  std::ofstream(elsewhere + "/kernels/mla_decode/contract.md") << "others words";
  EXPECT_EQ(build_mutant(named("lse_left_in_the_workspace"), moved)->launcher_path(),
            here->launcher_path());
  std::ofstream(elsewhere + "/kernels/mla_decode/launch.hpp", std::ios::app) << "// more\n";
  EXPECT_NE(build_mutant(named("lse_left_in_the_workspace"), moved)->launcher_path(),
            here->launcher_path());
}

TEST_F(MutantBuild, AnEditThatTheTargetDoesNotCompileIsNotInItsBuild) {
  const auto on = [&](const char* path) {
    const Mutant mutant = benign(std::string("--- ") + path +
                                 "\n #pragma once\n+constexpr int kNobodysNumber = 3;\n");
    const auto built = build_mutant(mutant, options());
    EXPECT_TRUE(built.ok()) << built.trouble().text;
    return built.ok() && built->is_in_build();
  };
  EXPECT_FALSE(on("kernels/mla_decode/stage1_hopper.hpp"));
  EXPECT_FALSE(on("kernels/mla_decode/stage1_cdna.hpp"));  // lines move, code does not
  EXPECT_TRUE(build_mutant(named("drop_last_token"), options())->is_in_build());
  EXPECT_TRUE(build_mutant(named("lse_left_in_the_workspace"), options())->is_in_build());
}

TEST_F(MutantBuild, AnEditOfDeviceCodeShowsInNvidiasBuildOnlyWhereThatHasIt) {
  if (!device_compiler("sm_90").missing.empty()) GTEST_SKIP() << device_compiler("sm_90").missing;
  BuildOptions cuda = options();
  cuda.target = "sm_90";
  const auto merge = build_mutant(named("merge_of_nothing_is_nan"), cuda);
  ASSERT_TRUE(merge.ok()) << merge.trouble().text;
  EXPECT_TRUE(merge->is_in_build());
  EXPECT_TRUE(fs::exists(merge->code_objects() + "/mla_decode.sm_90.cubin"));
  const auto of_amd = build_mutant(benign("--- kernels/mla_decode/stage1_cdna.hpp\n #pragma once\n"
                                          "+#error not for NVIDIA\n"),
                                   cuda);
  ASSERT_TRUE(of_amd.ok()) << of_amd.trouble().text;
  EXPECT_FALSE(of_amd->is_in_build());
}

TEST_F(MutantBuild, ALauncherAloneLeavesTheDeviceCodeAsItIs) {
  BuildOptions alone = options();
  alone.launcher_alone = true;
  EXPECT_EQ(build_mutant(named("drop_last_token"), alone)->code_objects(), ATTEST_CODE_OBJECT_DIR);
  EXPECT_EQ(built_folders(), 0u);
  EXPECT_NE(build_mutant(named("lse_left_in_the_workspace"), alone)->launcher_path(), "");
  EXPECT_EQ(built_folders(), 1u);
}

TEST(MutantCompile, TellsCompilersApartByTheLineThatNamesTheirRelease) {
  EXPECT_EQ(version_line("Debian clang version 19.1.7 (3~deb12u1)\nTarget: x86_64\n"),
            "Debian clang version 19.1.7 (3~deb12u1)");
  EXPECT_EQ(version_line("nvcc: NVIDIA (R) Cuda compiler driver\nBuilt on a day\n"
                         "Cuda compilation tools, release 13.0, V13.0.88\n"),
            "Cuda compilation tools, release 13.0, V13.0.88");
  EXPECT_EQ(version_line("g++ 12.2.0\nCopyright\n"), "g++ 12.2.0");
}

TEST_F(MutantBuild, AnUnknownKernelIsNull) {
  EXPECT_EQ(BuiltMutant("", nullptr).make_kernel("none"), nullptr);
  const auto built = build_mutant(named("lse_left_in_the_workspace"), options());
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->make_kernel("none"), nullptr);
  EXPECT_EQ(built->make_kernel("mla_decode")->name(), "mla_decode");
}

}  // namespace
}  // namespace attest

#include "harness/shard.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>

namespace attest {
namespace {

namespace fs = std::filesystem;

using Variables = std::map<std::string, std::string>;

Environment environment_of(const Variables& variables) {
  return [variables](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    return at == variables.end() ? std::nullopt : std::optional{at->second};
  };
}

// "3 of 8 from WHAT", or the trouble.
std::string shard_text(const std::string& option, const Variables& variables = {}) {
  const auto shard = shard_of(option, environment_of(variables));
  if (shard.ok()) {
    return std::to_string(shard->index + 1) + " of " + std::to_string(shard->count) + " from " +
           shard->from;
  }
  EXPECT_EQ(shard.trouble().kind, TroubleKind::kUsage);
  return shard.trouble().text;
}

Variables array(const char* id, const char* first, const char* last, const char* count,
                const char* step = "1") {
  return {{"SLURM_ARRAY_TASK_ID", id},
          {"SLURM_ARRAY_TASK_MIN", first},
          {"SLURM_ARRAY_TASK_MAX", last},
          {"SLURM_ARRAY_TASK_COUNT", count},
          {"SLURM_ARRAY_TASK_STEP", step}};
}

TEST(Shard, IsAllWhereNothingSaysOtherwise) {
  EXPECT_EQ(shard_text(""), "1 of 1 from ");
  EXPECT_EQ(shard_text("", {{"GTEST_TOTAL_SHARDS", ""}, {"GTEST_SHARD_INDEX", ""}}),
            "1 of 1 from ");
}

TEST(Shard, OfTheOptionCountsFromOne) {
  EXPECT_EQ(shard_text("1/8"), "1 of 8 from --shard");
  EXPECT_EQ(shard_text("8/8"), "8 of 8 from --shard");
  EXPECT_EQ(shard_text("1/1"), "1 of 1 from --shard");
  for (const char* bad : {"0/8", "9/8", "1/0", "0/0", "3", "3/", "/8", "3/8/9", "a/b", "-1/8",
                          "+1/8", " 1/8", "1 /8", "1.5/8", "1/99999999999999999999", "0x1/2"}) {
    EXPECT_EQ(shard_text(bad),
              std::string("--shard ") + bad +
                  " is no part of a whole; the first of eight is 1/8, the last 8/8");
  }
}

TEST(Shard, IsReadFromEachPairOfVariables) {
  for (const auto& [index, count] : {std::pair{"GTEST_SHARD_INDEX", "GTEST_TOTAL_SHARDS"},
                                     {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                     {"PMI_RANK", "PMI_SIZE"},
                                     {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}}) {
    EXPECT_EQ(shard_text("", {{index, "0"}, {count, "4"}}), std::string("1 of 4 from ") + index);
    EXPECT_EQ(shard_text("", {{index, "3"}, {count, "4"}}), std::string("4 of 4 from ") + index);
    EXPECT_EQ(shard_text("", {{index, "0"}, {count, "1"}}), std::string("1 of 1 from ") + index);
  }
}

TEST(Shard, OfAPairThatContradictsItselfIsUsageWithNamesAndValues) {
  const std::string instead = "; `--shard 1/1` runs all of it";
  EXPECT_EQ(shard_text("", {{"GTEST_SHARD_INDEX", "4"}, {"GTEST_TOTAL_SHARDS", "4"}}),
            "GTEST_SHARD_INDEX=4 is not below GTEST_TOTAL_SHARDS=4" + instead);
  EXPECT_EQ(shard_text("", {{"PMI_RANK", "0"}, {"PMI_SIZE", "0"}}),
            "PMI_RANK=0 is not below PMI_SIZE=0" + instead);
  EXPECT_EQ(shard_text("", {{"GTEST_TOTAL_SHARDS", "4"}}),
            "GTEST_TOTAL_SHARDS is set, but GTEST_SHARD_INDEX is not" + instead);
  EXPECT_EQ(shard_text("", {{"OMPI_COMM_WORLD_RANK", "1"}}),
            "OMPI_COMM_WORLD_RANK is set, but OMPI_COMM_WORLD_SIZE is not" + instead);
  for (const char* bad : {"-1", "two", "1e3", "0x1", " 1", "99999999999"}) {
    EXPECT_EQ(shard_text("", {{"PMI_RANK", bad}, {"PMI_SIZE", "4"}}),
              std::string("PMI_RANK=") + bad + " is no number from 0" + instead);
  }
}

TEST(Shard, OfASlurmArrayCountsFromItsFirstTaskByItsStep) {
  EXPECT_EQ(shard_text("", array("0", "0", "7", "8")), "1 of 8 from SLURM_ARRAY_TASK_ID");
  EXPECT_EQ(shard_text("", array("8", "1", "8", "8")), "8 of 8 from SLURM_ARRAY_TASK_ID");
  EXPECT_EQ(shard_text("", array("5", "1", "7", "4", "2")), "3 of 4 from SLURM_ARRAY_TASK_ID");
  Variables old = array("5", "1", "7", "4");
  old.erase("SLURM_ARRAY_TASK_STEP");
  old.erase("SLURM_ARRAY_TASK_MAX");
  old["SLURM_ARRAY_TASK_ID"] = "4";
  EXPECT_EQ(shard_text("", old), "4 of 4 from SLURM_ARRAY_TASK_ID");
}

TEST(Shard, OfASlurmArrayWithGapsIsUsage) {
  EXPECT_EQ(shard_text("", array("6", "1", "7", "3")),
            "SLURM_ARRAY_TASK_ID=6 of an array of 3 tasks from 1 to 7 by 1: with gaps, it says not "
            "which part this is: submit with --array=0-2, or give --shard");
  for (const Variables& bad :
       {array("0", "1", "8", "8"), array("9", "1", "8", "8"), array("2", "1", "7", "4", "2"),
        array("0", "0", "0", "0"), array("0", "0", "0", "1", "0")}) {
    EXPECT_NE(shard_text("", bad).find("with gaps"), std::string::npos) << shard_text("", bad);
  }
  Variables alone = {{"SLURM_ARRAY_TASK_ID", "3"}, {"SLURM_ARRAY_TASK_MIN", "0"}};
  EXPECT_EQ(shard_text("", alone),
            "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT is not; `--shard 1/1` runs all "
            "of it");
}

TEST(Shard, IsOfTheFirstThatIsThereInTheStatedOrder) {
  Variables all = array("2", "0", "5", "6");
  for (const char* index :
       {"GTEST_SHARD_INDEX", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})
    all[index] = "1";
  for (const char* count :
       {"GTEST_TOTAL_SHARDS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
    all[count] = "4";
  EXPECT_EQ(shard_text("3/3", all), "3 of 3 from --shard");
  for (const auto& [name, text] : {std::pair{"GTEST_SHARD_INDEX", "2 of 4 from GTEST_SHARD_INDEX"},
                                   {"SLURM_ARRAY_TASK_ID", "3 of 6 from SLURM_ARRAY_TASK_ID"},
                                   {"OMPI_COMM_WORLD_RANK", "2 of 4 from OMPI_COMM_WORLD_RANK"},
                                   {"PMI_RANK", "2 of 4 from PMI_RANK"},
                                   {"SLURM_PROCID", "2 of 4 from SLURM_PROCID"}}) {
    EXPECT_EQ(shard_text("", all), text);
    all.erase(name);
    if (std::string(name) == "GTEST_SHARD_INDEX") all.erase("GTEST_TOTAL_SHARDS");
    if (std::string(name) == "OMPI_COMM_WORLD_RANK") all.erase("OMPI_COMM_WORLD_SIZE");
    if (std::string(name) == "PMI_RANK") all.erase("PMI_SIZE");
  }
}

// What a batch script sees that asked for tasks, and starts none by srun.
TEST(Shard, OfABatchScriptOutsideSrunIsAll) {
  EXPECT_EQ(shard_text("", {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_JOB_ID", "7"}}),
            "1 of 1 from ");
}

TEST(Shard, SaysWhatItIsAndWhatSaidSo) {
  EXPECT_EQ(what_it_is({2, 8, "SLURM_ARRAY_TASK_ID"}), "shard 3 of 8, from SLURM_ARRAY_TASK_ID");
  EXPECT_EQ(to_text({2, 8, "--shard"}), "3/8");
  EXPECT_EQ(what_it_is({}), "");
  EXPECT_EQ(to_text({}), "");
}

class GoogleTestFiles : public testing::Test {
 protected:
  void SetUp() override { fs::remove(path_); }
  void TearDown() override { fs::remove(path_); }
  const std::string path_ = testing::TempDir() + "attest_" +
                            testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(GoogleTestFiles, TheStatusFileIsWrittenWhereItIsAskedFor) {
  EXPECT_TRUE(show_that_shards_are_known(environment_of({})).ok());
  EXPECT_FALSE(fs::exists(path_));
  EXPECT_TRUE(
      show_that_shards_are_known(environment_of({{"GTEST_SHARD_STATUS_FILE", path_}})).ok());
  EXPECT_TRUE(fs::exists(path_));
  const auto bad =
      show_that_shards_are_known(environment_of({{"GTEST_SHARD_STATUS_FILE", "/nowhere/x"}}));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.trouble().kind, TroubleKind::kInfra);
  EXPECT_EQ(bad.trouble().text, "GTEST_SHARD_STATUS_FILE=/nowhere/x: No such file or directory");
}

TEST_F(GoogleTestFiles, TheFileOfAPrematureExitIsThereUntilTheEnd) {
  const Environment environment = environment_of({{"TEST_PREMATURE_EXIT_FILE", path_}});
  {
    const PrematureExitFile file(environment);
    EXPECT_EQ(file.trouble(), "");
    EXPECT_TRUE(fs::exists(path_));
  }
  EXPECT_FALSE(fs::exists(path_));
  const PrematureExitFile not_asked_for(environment_of({}));
  EXPECT_EQ(not_asked_for.trouble(), "");
  const PrematureExitFile bad(environment_of({{"TEST_PREMATURE_EXIT_FILE", "/nowhere/x"}}));
  EXPECT_EQ(bad.trouble(), "TEST_PREMATURE_EXIT_FILE=/nowhere/x: No such file or directory");
}

TEST_F(GoogleTestFiles, AChildThatEndsDoesNotRemoveTheFileOfAPrematureExit) {
  const Environment environment = environment_of({{"TEST_PREMATURE_EXIT_FILE", path_}});
  auto file = std::make_unique<PrematureExitFile>(environment);
  const pid_t child = fork();
  if (child == 0) {
    file.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(fs::exists(path_));
}

TEST(JobOf, IsWhatTheShardsOfOneNightShare) {
  const auto job = [](std::map<std::string, std::string> set) {
    return job_of([set](const std::string& name) -> std::optional<std::string> {
      const auto found = set.find(name);
      return found == set.end() ? std::nullopt : std::optional{found->second};
    });
  };
  EXPECT_EQ(job({}), "");
  EXPECT_EQ(job({{"SLURM_ARRAY_JOB_ID", "7"}, {"SLURM_JOB_ID", "9"}}), "SLURM_ARRAY_JOB_ID=7");
  EXPECT_EQ(job({{"SLURM_JOB_ID", "9"}}), "SLURM_JOB_ID=9");
  EXPECT_EQ(job({{"GITHUB_RUN_ID", "5"}}), "GITHUB_RUN_ID=5.1");
  EXPECT_NE(job({{"GITHUB_RUN_ID", "5"}, {"GITHUB_RUN_ATTEMPT", "2"}}),
            job({{"GITHUB_RUN_ID", "5"}, {"GITHUB_RUN_ATTEMPT", "1"}}));
}

}  // namespace
}  // namespace attest

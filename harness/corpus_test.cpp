#include "harness/corpus.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <barrier>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "harness/selection.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

class CorpusTest : public testing::Test {
 protected:
  void SetUp() override { fs::remove_all(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::string& name, const std::string& text) const {
    fs::create_directories(folder_);
    std::ofstream(folder_ + "/" + name) << text;
  }
  std::string text_of(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ + "/" + name).rdbuf();
    return text.str();
  }
  std::vector<std::string> tokens() const {
    const auto cases = read_corpus(folder_);
    EXPECT_TRUE(cases.ok()) << (cases.ok() ? "" : cases.trouble().text);
    std::vector<std::string> result;
    for (const CorpusCase& one : *cases) result.push_back(to_token(one.c) + " " + one.bucket);
    return result;
  }
  const std::string folder_ = testing::TempDir() + "attest_corpus_" +
                              testing::UnitTest::GetInstance()->current_test_info()->name();
};

const char* const kMlaDecode = "mla_decode.tokens";
Case case_of(int heads) { return *parse_token("v1:k=mla_decode:h=" + std::to_string(heads)); }

TEST_F(CorpusTest, IsReadByNameThenInTheOrderOfItsLinesEachCaseOnce) {
  put("b.tokens", "v1:k=mla_decode:h=4  # merge.wrong.all.mla_decode\nv1:k=mla_decode:h=2\n");
  put("a.tokens", "# what is kept\n\n v1:k=mla_decode:h=3\t\r\nv1:k=mla_decode:h=2 # x # y\n");
  put("notes.md", "nonsense");
  EXPECT_EQ(tokens(), (std::vector<std::string>{"v1:k=mla_decode:h=3 ", "v1:k=mla_decode:h=2 x # y",
                                                "v1:k=mla_decode:h=4 merge.wrong.all.mla_decode"}));
}

TEST_F(CorpusTest, WithABadTokenIsUsageThatNamesFileAndLine) {
  for (const char* bad : {"v1:bogus=1", "v1:k=nope", "nonsense", "v1:h=2 v1:h=3"}) {
    put("a.tokens", std::string("v1:h=2\n\n") + bad + "\n");
    const auto cases = read_corpus(folder_);
    ASSERT_FALSE(cases.ok()) << bad;
    EXPECT_EQ(cases.trouble().kind, TroubleKind::kUsage);
    EXPECT_TRUE(cases.trouble().text.starts_with(folder_ + "/a.tokens:3: "))
        << cases.trouble().text;
  }
}

TEST_F(CorpusTest, ThatIsNotThereIsUsage) {
  const auto cases = read_corpus(folder_);
  ASSERT_FALSE(cases.ok());
  EXPECT_EQ(cases.trouble().kind, TroubleKind::kUsage);
  EXPECT_NE(cases.trouble().text.find(folder_), std::string::npos);
  fs::create_directories(folder_ + "/a.tokens");  // a folder_ where a file belongs
  EXPECT_FALSE(read_corpus(folder_).ok());
}

TEST_F(CorpusTest, KeepsEachFailureOnceAtTheEndOfItsKernelsFile) {
  for (const int heads : {7, 5, 7}) {
    EXPECT_TRUE(add_to_corpus(folder_, case_of(heads), "merge.wrong.all.mla_decode").ok());
  }
  EXPECT_TRUE(add_to_corpus(folder_, *parse_token("v1:k=mla_decode_bf16_partials"), "").ok());
  EXPECT_EQ(text_of(kMlaDecode),
            "v1:k=mla_decode:h=7  # merge.wrong.all.mla_decode\n"
            "v1:k=mla_decode:h=5  # merge.wrong.all.mla_decode\n");
  EXPECT_EQ(text_of("mla_decode_bf16_partials.tokens"), "v1:k=mla_decode_bf16_partials\n");
}

TEST_F(CorpusTest, EndsALineThatWasLeftOpen) {
  put(kMlaDecode, "# by hand\nv1:k=mla_decode:h=7");
  EXPECT_TRUE(add_to_corpus(folder_, case_of(5), "b").ok());
  EXPECT_EQ(text_of(kMlaDecode), "# by hand\nv1:k=mla_decode:h=7\nv1:k=mla_decode:h=5  # b\n");
}

TEST_F(CorpusTest, TakesWhatSeveralAppendAtOnceWholeAndOnce) {
  constexpr int kThreads = 4, kCases = 40;
  std::barrier together(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        for (int heads = 1; heads <= kCases; ++heads) {
          together.arrive_and_wait();
          EXPECT_TRUE(add_to_corpus(folder_, case_of(heads), "b").ok());
        }
      });
    }
  }
  const std::string text = text_of(kMlaDecode);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), kCases);
  EXPECT_EQ(tokens().size(), std::size_t{kCases});
}

TEST_F(CorpusTest, SaysWhatCouldNotBeKeptAndLeavesNoHalfLine) {
  const auto expect_lost = [](const Outcome& outcome) {
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.trouble().kind, TroubleKind::kInfra);
    EXPECT_TRUE(outcome.trouble().text.ends_with("not kept: v1:k=mla_decode:h=5  # b"))
        << outcome.trouble().text;
  };
  expect_lost(add_to_corpus("/proc/nope", case_of(5), "b"));

  EXPECT_TRUE(add_to_corpus(folder_, case_of(7), "b").ok());
  const std::string before = text_of(kMlaDecode);
  rlimit limit{};
  getrlimit(RLIMIT_FSIZE, &limit);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{before.size() + 10, limit.rlim_max};  // the line is longer
  setrlimit(RLIMIT_FSIZE, &small);
  const Outcome outcome = add_to_corpus(folder_, case_of(5), "b");
  setrlimit(RLIMIT_FSIZE, &limit);
  std::signal(SIGXFSZ, old_handler);
  expect_lost(outcome);
  EXPECT_EQ(text_of(kMlaDecode), before);

  put(kMlaDecode, "nonsense\n");
  expect_lost(add_to_corpus(folder_, case_of(5), "b"));
}

TEST_F(CorpusTest, IsSelectedFirst) {
  put(kMlaDecode, "v1:k=mla_decode:h=7\nv1:k=mla_decode:h=5\n");
  const auto all = select_cases({{"v1:k=mla_decode:h=5", "v1:k=mla_decode:h=3"}, {}, {}, folder_});
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(*all, (std::vector<Case>{case_of(7), case_of(5), case_of(3)}));
  EXPECT_EQ(select_cases({{}, {}, "h=5", folder_})->size(), 1u);  // of the corpus alone
  EXPECT_FALSE(select_cases({{}, {}, {}, folder_ + "/nope"}).ok());
}

}  // namespace
}  // namespace attest

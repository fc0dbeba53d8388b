// The format of mutants, and the collection in fuzz/mutants/.
#include "harness/mutant.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

namespace attest {
namespace {

namespace fs = std::filesystem;

const std::string kHeader =
    "defect: The last token is dropped.\nrecreates: owner/repo#12\nclass: PAGE\n";
const std::string kSection = "--- kernels/a.hpp\n";

std::string error_of(const std::string& text) {
  const auto mutant = parse_mutant("m", text);
  return mutant.ok() ? "" : mutant.trouble().text;
}

void expect_error(const std::string& text, const std::string& words) {
  EXPECT_NE(error_of(text).find(words), std::string::npos) << text << "\ngave: " << error_of(text);
}

// A folder with kernels/a.hpp of these lines; gone with the test.
class Tree {
 public:
  explicit Tree(const std::string& text)
      : root_(fs::temp_directory_path() / "attest-mutant-test-XXXXXX") {
    std::string name = root_.string();
    root_ = mkdtemp(name.data());
    fs::create_directories(root_ / "kernels");
    std::ofstream(root_ / "kernels/a.hpp") << text;
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  std::string root() const { return root_; }

 private:
  fs::path root_;
};

std::string applied(const std::string& hunks, const std::string& text) {
  const Tree tree(text);
  const auto mutant = parse_mutant("m", kHeader + kSection + hunks);
  EXPECT_TRUE(mutant.ok()) << error_of(kHeader + kSection + hunks);
  const auto files = apply_mutant(*mutant, tree.root());
  return files.ok() ? files->at("kernels/a.hpp") : files.trouble().text;
}

TEST(Mutant, HeaderAndHunksAreRead) {
  const auto mutant =
      parse_mutant("m", kHeader + kSection + " a\n-b\n+c\n@@\n-d\n--- kernels/b.hpp\n e\n+f\n");
  ASSERT_TRUE(mutant.ok()) << mutant.trouble().text;
  EXPECT_EQ(mutant->name, "m");
  EXPECT_EQ(mutant->defect, "The last token is dropped.");
  EXPECT_EQ(mutant->recreates, "owner/repo#12");
  EXPECT_EQ(mutant->bug_class, "PAGE");
  ASSERT_EQ(mutant->hunks.size(), 3u);
  EXPECT_EQ(mutant->hunks[0].old_text, "a\nb\n");
  EXPECT_EQ(mutant->hunks[0].new_text, "a\nc\n");
  EXPECT_EQ(mutant->hunks[0].line, 5);
  EXPECT_EQ(mutant->hunks[1].path, "kernels/a.hpp");
  EXPECT_EQ(mutant->hunks[1].new_text, "");
  EXPECT_EQ(mutant->hunks[2].path, "kernels/b.hpp");
}

TEST(Mutant, AnErrorNamesTheMutantTheLineAndWhatIsAllowed) {
  const std::string edit = kSection + "-b\n+c\n";
  expect_error(kHeader + "colour: red\n" + edit, "m.mutant: line 4: want `defect:`");
  expect_error(kHeader + "class: LSE\n" + edit, "line 4: `class` stands twice");
  expect_error("defect:\n" + edit, "line 1: want `defect: VALUE`");
  expect_error("recreates: o/r#1\nclass: LSE\n" + edit, "no `defect:`");
  expect_error("defect: x\nrecreates: o/r#1\n" + edit, "no `class:`");
  expect_error("defect: x\nclass: LSE\n" + edit, "no `recreates:`");
  expect_error("defect: x\nrecreates: o/r#1\nclass: LAZY\n" + edit,
               "no class 'LAZY'; there are EMPTY SPLIT");
  expect_error("defect: x\nrecreates: o/r 12\nclass: LSE\n" + edit,
               "want `recreates: owner/repository#number`");
  expect_error(kHeader, "no `--- PATH`");
  expect_error(kHeader + "--- harness/judge.cpp\n-a\n",
               "'harness/judge.cpp' is not a file of kernels/");
  expect_error(kHeader + "--- kernels/../harness/judge.cpp\n-a\n", "is not a file of kernels/");
}

TEST(Mutant, AHunkWithoutAPlaceOrAnEditIsAnError) {
  expect_error(kHeader + kSection, "has no place in the file");
  expect_error(kHeader + kSection + "+a\n", "has no place in the file");
  expect_error(kHeader + kSection + "-a\n+b\n@@\n", "has no place in the file");
  expect_error(kHeader + kSection + " a\n", "a hunk without an edit");
  expect_error(kHeader + kSection + "-a\n+a\n", "a hunk without an edit");
  expect_error(kHeader + kSection + "-a\n\n+b\n", "line 6: a line of a hunk begins with");
}

TEST(Mutant, CheatsAndBenignOnesNeedNoPublicBug) {
  for (const std::string kind : {"CHEAT", "BENIGN"}) {
    EXPECT_EQ(error_of("defect: x\nclass: " + kind + "\n" + kSection + "-b\n+c\n"), "");
  }
}

TEST(Mutant, HunksReplaceWholeLinesInOrder) {
  EXPECT_EQ(applied("-b\n+x\n+y\n", "a\nb\nc\n"), "a\nx\ny\nc\n");
  EXPECT_EQ(applied("-b\n+x\n@@\n x\n-c\n", "a\nb\nc\n"), "a\nx\n");
  EXPECT_EQ(applied(" b\n+x\n", "ab\nb\n"), "ab\nb\nx\n");
}

TEST(Mutant, OldTextThatDoesNotStandExactlyOnceIsAnErrorWithTheCount) {
  EXPECT_NE(applied("-b\n", "a\n")
                .find("line 5: its old text must stand in kernels/a.hpp exactly once, but stands "
                      "there 0 times"),
            std::string::npos);
  EXPECT_NE(applied("-b\n", "b\nb\n").find("stands there 2 times"), std::string::npos);
  EXPECT_NE(applied("-b\n", " b\nab\n").find("stands there 0 times"), std::string::npos);
  EXPECT_NE(applied("-b\n@@\n-b\n", "b\n").find("line 7: its old text"), std::string::npos);
}

TEST(Mutant, AFileThatIsNotThereIsAnError) {
  const Tree tree("a\n");
  const auto mutant = parse_mutant("m", kHeader + "--- kernels/none.hpp\n-a\n");
  const auto files = apply_mutant(*mutant, tree.root());
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.trouble().text.find("cannot read"), std::string::npos);
}

TEST(Mutant, AFolderWithoutMutantsIsAnError) {
  const Tree tree("a\n");
  EXPECT_FALSE(read_mutants(tree.root()).ok());
  EXPECT_FALSE(read_mutants(tree.root() + "/none").ok());
}

std::vector<Mutant> collection() {
  auto mutants = read_mutants(ATTEST_SOURCE_DIR "/fuzz/mutants");
  EXPECT_TRUE(mutants.ok()) << mutants.trouble().text;
  return mutants.ok() ? *mutants : std::vector<Mutant>{};
}

TEST(MutantCollection, EveryFileAppliesToTheSources) {
  for (const Mutant& mutant : collection()) {
    const auto files = apply_mutant(mutant, ATTEST_SOURCE_DIR);
    EXPECT_TRUE(files.ok()) << files.trouble().text;
  }
}

TEST(MutantCollection, NoTwoMakeTheSameEdit) {
  std::map<FilesByPath, std::string> seen;
  for (const Mutant& mutant : collection()) {
    const auto files = apply_mutant(mutant, ATTEST_SOURCE_DIR);
    if (!files.ok()) continue;
    const auto [at, is_new] = seen.emplace(*files, mutant.name);
    EXPECT_TRUE(is_new) << mutant.name << " edits as " << at->second << " does";
  }
}

int count(bool (Mutant::*is)() const) {
  const auto mutants = collection();
  return static_cast<int>(
      std::count_if(mutants.begin(), mutants.end(), [&](const Mutant& m) { return (m.*is)(); }));
}

TEST(MutantCollection, DefectsOfManyClassesCheatsAndRightKernelsAreThere) {
  std::set<std::string> classes;
  for (const Mutant& mutant : collection()) {
    if (mutant.is_defect()) classes.insert(mutant.bug_class);
  }
  EXPECT_GE(classes.size(), 14u);
  EXPECT_GE(count(&Mutant::is_defect), 60);
  EXPECT_GE(count(&Mutant::is_cheat), 6);
  EXPECT_GE(count(&Mutant::is_benign), 6);
}

TEST(MutantCollection, ABenignOneSaysWhyTheContractAllowsIt) {
  for (const Mutant& mutant : collection()) {
    EXPECT_EQ(mutant.is_benign(), mutant.defect.starts_with("none: ")) << mutant.name;
  }
}

TEST(MutantCollection, EveryClassIsExplainedInTheReadme) {
  std::ifstream stream(ATTEST_SOURCE_DIR "/fuzz/mutants/README.md");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  for (const std::string_view bug_class : mutant_classes()) {
    EXPECT_NE(text.find("| " + std::string(bug_class) + " |"), std::string::npos) << bug_class;
  }
}

}  // namespace
}  // namespace attest

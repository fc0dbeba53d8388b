// What the source tree itself promises: include layers, complete lists, size limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace attest {
namespace {

namespace fs = std::filesystem;

constexpr std::array kFolders = {"fuzz", "golden", "harness", "kernels", "reference", "reports"};
constexpr int kMaxFileLines = 400;
constexpr int kMaxFunctionLines = 60;
// Host files that may be longer, each with its reason. None so far.
const std::map<std::string, std::string> kLongFiles = {};

struct SourceFile {
  std::string path;  // from the root of the tree
  std::vector<std::string> lines;
};

std::vector<std::string> lines_of(std::istream& stream) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return text.ends_with(ending); });
}

// Every file of the tree, in the order of its path.
const std::vector<SourceFile>& all_files() {
  static const std::vector<SourceFile> files = [] {
    const fs::path root = ATTEST_SOURCE_DIR;
    std::map<std::string, SourceFile> sorted;
    for (const char* folder : kFolders) {
      if (!fs::exists(root / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (!entry.is_regular_file()) continue;
        const std::string path = fs::relative(entry.path(), root).generic_string();
        std::ifstream stream(entry.path());
        sorted[path] = {path, lines_of(stream)};
      }
    }
    std::vector<SourceFile> result;
    for (auto& [path, file] : sorted) result.push_back(std::move(file));
    return result;
  }();
  return files;
}

std::string text_of(std::string_view path) {
  for (const SourceFile& file : all_files()) {
    if (file.path != path) continue;
    std::string text;
    for (const std::string& line : file.lines) text += line + "\n";
    return text;
  }
  ADD_FAILURE() << path << " is missing";
  return "";
}

// All CMake text of the tree, with what each CMakeLists.txt names relative to its own folder.
std::string all_cmake_text() {
  std::string text;
  for (const SourceFile& file : all_files()) {
    if (!ends_with_any(file.path, {"CMakeLists.txt", ".cmake"})) continue;
    for (const std::string& line : file.lines) text += line + "\n";
  }
  for (const auto& entry : fs::directory_iterator(fs::path(ATTEST_SOURCE_DIR) / "cmake")) {
    std::ifstream stream(entry.path());
    for (const std::string& line : lines_of(stream)) text += line + "\n";
  }
  return text;
}

// Does `word` stand in `text` as a whole, not as a part of a longer file name?
bool names(const std::string& text, const std::string& word) {
  const auto part_of_name = [](char c) { return std::isalnum(c) || c == '_' || c == '-'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    const bool starts = at == 0 || !part_of_name(text[at - 1]);
    const std::size_t end = at + word.size();
    if (starts && (end == text.size() || !part_of_name(text[end]))) return true;
  }
  return false;
}

std::string layer_of(std::string_view path) {
  if (path.starts_with("harness/core/")) return "harness/core";
  return std::string(path.substr(0, path.find('/')));
}

// harness/core <- kernels, reference, fuzz, golden, reports <- harness.
bool may_include(std::string_view from, std::string_view to) {
  const std::string a = layer_of(from), b = layer_of(to);
  return a == "harness" || a == b || b == "harness/core";
}

std::optional<std::string> included_path(const std::string& line, char open, char close) {
  if (!line.starts_with("#include ") || line.size() < 11 || line[9] != open) return std::nullopt;
  return line.substr(10, line.find(close, 10) - 10);
}

bool is_cpp(std::string_view path) { return ends_with_any(path, {".cpp", ".hpp", ".hip"}); }

struct Function {
  std::string name;  // its first line
  int first_line = 0, lines = 0;
};

// Functions at namespace scope, by our format: they begin in column 0 and end with a brace there.
std::vector<Function> functions_of(const std::vector<std::string>& lines) {
  const auto opens_scope = [](const std::string& line) {
    for (const char* word : {"namespace", "class", "struct", "enum", "union", "extern \"C\" {"}) {
      if (line.starts_with(word)) return true;
    }
    return false;
  };
  std::vector<Function> functions;
  std::optional<Function> open;
  for (int i = 0; i < static_cast<int>(lines.size()); ++i) {
    const std::string& line = lines[i];
    const bool in_column_0 = !line.empty() && std::isalpha(static_cast<unsigned char>(line[0]));
    if (in_column_0 && !opens_scope(line)) open = Function{line, i + 1, 0};
    if (in_column_0 && opens_scope(line)) open.reset();
    if (open && line == "}") {
      open->lines = i + 2 - open->first_line;
      functions.push_back(*open);
      open.reset();
    }
  }
  return functions;
}

bool is_device_code(const SourceFile& file) {
  if (!file.path.starts_with("kernels/")) return false;
  if (file.path.ends_with(".hip")) return true;
  return file.path.ends_with(".hpp") &&
         std::any_of(file.lines.begin(), file.lines.end(), [](const std::string& line) {
           return line.find("ATTEST_INLINE") != std::string::npos;
         });
}

TEST(IncludeLayers, KernelsAndReferenceNeverSeeEachOtherOrTheHarness) {
  EXPECT_FALSE(may_include("kernels/mla_decode/launch.cpp", "reference/reference.hpp"));
  EXPECT_FALSE(may_include("reference/tile.cpp", "kernels/device/bf16.hpp"));
  EXPECT_FALSE(may_include("reference/tile.cpp", "harness/judge.hpp"));
  EXPECT_FALSE(may_include("harness/core/token.cpp", "harness/judge.hpp"));
  EXPECT_FALSE(may_include("harness/core/token.cpp", "fuzz/problems/suites.hpp"));
  EXPECT_TRUE(may_include("kernels/catalog.cpp", "harness/core/kernel.hpp"));
  EXPECT_TRUE(may_include("harness/verify.cpp", "reference/reference.hpp"));
}

TEST(IncludeLayers, EveryIncludeOfTheTreeKeepsThemAndNamesAFile) {
  int includes = 0;
  for (const SourceFile& file : all_files()) {
    if (!is_cpp(file.path)) continue;
    for (const std::string& line : file.lines) {
      const auto path = included_path(line, '"', '"');
      if (!path) continue;
      ++includes;
      EXPECT_TRUE(may_include(file.path, *path)) << file.path << " includes " << *path;
      EXPECT_TRUE(fs::exists(fs::path(ATTEST_SOURCE_DIR) / *path))
          << file.path << " includes " << *path << ", which is not a path from the root";
    }
  }
  EXPECT_GT(includes, 50);
}

TEST(IncludeLayers, TheReferenceSeesNoGpuRuntime) {
  for (const SourceFile& file : all_files()) {
    if (!is_cpp(file.path) || layer_of(file.path) != "reference") continue;
    for (const std::string& line : file.lines) {
      const std::string path = included_path(line, '<', '>').value_or("");
      EXPECT_FALSE(path.starts_with("hip") || path.starts_with("cuda") || path.starts_with("hsa"))
          << file.path << " includes " << path;
    }
  }
}

TEST(ListsAreComplete, EverySourceAndTestIsNamedInACMakeFile) {
  const std::string cmake = all_cmake_text();
  int tests = 0;
  for (const SourceFile& file : all_files()) {
    if (!ends_with_any(file.path, {".cpp", ".hip"})) continue;
    const std::string name = fs::path(file.path).filename().string();
    tests += name.ends_with("_test.cpp");
    EXPECT_TRUE(names(cmake, name)) << file.path << " is in no CMakeLists.txt, so it is not built";
  }
  EXPECT_GT(tests, 5);
}

// Folders of device code that is not under test: it measures or disturbs what is.
const std::set<std::string> kInstruments = {"kernels/bench", "kernels/disturb"};

TEST(ListsAreComplete, EveryFolderWithAHipSourceIsInTheCatalogOfKernels) {
  const std::string catalog = text_of("kernels/catalog.cpp");
  int folders = 0;
  for (const SourceFile& file : all_files()) {
    if (!file.path.starts_with("kernels/") || !file.path.ends_with(".hip")) continue;
    const std::string folder = fs::path(file.path).parent_path().generic_string();
    if (kInstruments.contains(folder)) continue;
    ++folders;
    EXPECT_NE(catalog.find("#include \"" + folder + "/"), std::string::npos)
        << folder << " is not in kernels/catalog.cpp";
    EXPECT_FALSE(text_of(folder + "/contract.md").empty());
  }
  EXPECT_GT(folders, 0);
}

TEST(ListsAreComplete, EveryDistributionIsInItsCatalog) {
  const std::string catalog = text_of("fuzz/distributions/catalog.cpp");
  int distributions = 0;
  for (const SourceFile& file : all_files()) {
    const fs::path path = file.path;
    if (path.parent_path() != "fuzz/distributions" || path.extension() != ".cpp") continue;
    if (path.stem() == "catalog" || file.path.ends_with("_test.cpp")) continue;
    ++distributions;
    const std::string entry = path.stem().string() + "_distribution()";
    EXPECT_TRUE(names(catalog, entry)) << file.path << ": no " << entry << " in catalog.cpp";
  }
  EXPECT_GT(distributions, 1);
}

TEST(ListsAreComplete, EveryReportFormatIsInItsCatalog) {
  const std::string catalog = text_of("reports/catalog.cpp");
  int formats = 0;
  for (const SourceFile& file : all_files()) {
    const fs::path path = file.path;
    if (path.parent_path() != "reports" || path.extension() != ".cpp") continue;
    if (path.stem() == "catalog" || file.path.ends_with("_test.cpp")) continue;
    ++formats;
    const std::string entry = "render_" + path.stem().string();
    EXPECT_TRUE(names(catalog, entry)) << file.path << ": no " << entry << " in catalog.cpp";
  }
  EXPECT_GT(formats, 1);
}

TEST(Headers, EachHasPragmaOnce) {
  for (const SourceFile& file : all_files()) {
    if (!file.path.ends_with(".hpp")) continue;
    EXPECT_EQ(std::count(file.lines.begin(), file.lines.end(), "#pragma once"), 1) << file.path;
  }
}

TEST(Sizes, HostFilesHaveAtMost400Lines) {
  for (const SourceFile& file : all_files()) {
    if (!ends_with_any(file.path, {".cpp", ".hpp", ".sh"}) || is_device_code(file)) continue;
    if (kLongFiles.contains(file.path)) continue;
    EXPECT_LE(file.lines.size(), kMaxFileLines) << file.path;
  }
}

TEST(Sizes, FunctionLengthIsMeasuredFromTheFirstLineToTheBrace) {
  std::istringstream text(
      "namespace a {\nint f(int x,\n      int y) {\n  return x;\n}\n}  // namespace a\n");
  const std::vector<Function> functions = functions_of(lines_of(text));
  ASSERT_EQ(functions.size(), 1u);
  EXPECT_EQ(functions[0].first_line, 2);
  EXPECT_EQ(functions[0].lines, 4);
}

TEST(Sizes, HostFunctionsHaveAtMost60Lines) {
  int functions = 0;
  for (const SourceFile& file : all_files()) {
    if (!ends_with_any(file.path, {".cpp", ".hpp"}) || is_device_code(file)) continue;
    for (const Function& function : functions_of(file.lines)) {
      ++functions;
      EXPECT_LE(function.lines, kMaxFunctionLines)
          << file.path << ":" << function.first_line << ": " << function.name;
    }
  }
  EXPECT_GT(functions, 100);
}

}  // namespace
}  // namespace attest

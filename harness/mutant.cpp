#include "harness/mutant.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>
#include <sstream>

namespace attest {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 21> kClasses = {
    "EMPTY", "SPLIT", "LSE",  "MASK", "PAGE",     "ADDR",     "STRIDE",
    "OOB",   "RACE",  "HANG", "WS",   "GRAPH",    "DISPATCH", "QUANT",
    "PREC",  "SINK",  "TILE", "GRID", "COMPILER", "CHEAT",    "BENIGN"};

constexpr std::string_view kSection = "--- ";
constexpr std::string_view kBetweenHunks = "@@";

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) return std::nullopt;
  return text.str();
}

// Reads a mutant line by line; the first error sticks.
class Parser {
 public:
  explicit Parser(const std::string& name) { mutant_.name = name; }

  void take(const std::string& line) {
    ++line_;
    if (!error_.empty()) return;
    if (line.starts_with(kSection)) {
      begin_section(line.substr(kSection.size()));
    } else if (path_.empty()) {
      take_header(line);
    } else if (line == kBetweenHunks) {
      end_hunk();
      begin_hunk();
    } else {
      take_edit(line);
    }
  }

  Result<Mutant> finish() {
    if (!path_.empty()) end_hunk();
    if (error_.empty()) check_whole();
    if (error_.empty()) return std::move(mutant_);
    return Trouble{TroubleKind::kUsage, fmt::format("{}.mutant: {}", mutant_.name, error_)};
  }

 private:
  void fail(const std::string& what) {
    if (error_.empty()) error_ = fmt::format("line {}: {}", line_, what);
  }

  void take_header(const std::string& line) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    const std::string key = line.substr(0, colon);
    const std::string value = line.substr(std::min(colon + 2, line.size()));
    std::string* const field = key == "defect"      ? &mutant_.defect
                               : key == "recreates" ? &mutant_.recreates
                               : key == "class"     ? &mutant_.bug_class
                                                    : nullptr;
    if (field == nullptr) return fail("want `defect:`, `recreates:`, `class:` or `--- PATH`");
    if (value.empty()) return fail(fmt::format("want `{}: VALUE`", key));
    if (!field->empty()) return fail(fmt::format("`{}` stands twice", key));
    *field = value;
  }

  void begin_section(const std::string& path) {
    if (!path_.empty()) end_hunk();
    if (!path.starts_with("kernels/") || path.find("..") != std::string::npos) {
      return fail(fmt::format("'{}' is not a file of kernels/", path));
    }
    path_ = path;
    begin_hunk();
  }

  void begin_hunk() { hunk_ = {.path = path_, .line = line_ + 1, .old_text = {}, .new_text = {}}; }

  void take_edit(const std::string& line) {
    const char kind = line.empty() ? '\0' : line[0];
    if (kind != ' ' && kind != '-' && kind != '+') {
      return fail("a line of a hunk begins with ' ', '-' or '+'; hunks are separated by '@@'");
    }
    const std::string text = line.substr(1) + "\n";
    if (kind != '+') hunk_.old_text += text;
    if (kind != '-') hunk_.new_text += text;
  }

  void end_hunk() {
    if (hunk_.old_text.empty())
      return fail("a hunk without a ' ' or '-' line has no place in the file");
    if (hunk_.old_text == hunk_.new_text) return fail("a hunk without an edit");
    mutant_.hunks.push_back(hunk_);
  }

  void check_whole() {
    static const std::regex reference(R"([\w.-]+/[\w.-]+(#\d+|@[0-9a-f]{7,40}))");
    if (mutant_.defect.empty()) return fail("no `defect:`");
    if (mutant_.bug_class.empty()) return fail("no `class:`");
    if (std::find(kClasses.begin(), kClasses.end(), mutant_.bug_class) == kClasses.end()) {
      return fail(
          fmt::format("no class '{}'; there are {}", mutant_.bug_class, fmt::join(kClasses, " ")));
    }
    if (mutant_.is_defect() && mutant_.recreates.empty()) {
      return fail("no `recreates:`, which a defect needs: the public bug with this mechanism");
    }
    if (!mutant_.recreates.empty() && !std::regex_match(mutant_.recreates, reference)) {
      return fail("want `recreates: owner/repository#number` or `owner/repository@commit`");
    }
    if (mutant_.hunks.empty()) return fail("no `--- PATH` with a hunk");
  }

  Mutant mutant_;
  Hunk hunk_;
  std::string path_, error_;
  int line_ = 0;
};

// Where `lines` stands in `text` as whole lines.
std::vector<std::size_t> places_of(const std::string& text, const std::string& lines) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(lines); at != std::string::npos; at = text.find(lines, at + 1)) {
    if (at == 0 || text[at - 1] == '\n') places.push_back(at);
  }
  return places;
}

}  // namespace

std::span<const std::string_view> mutant_classes() { return kClasses; }

Result<Mutant> parse_mutant(const std::string& name, const std::string& text) {
  Parser parser(name);
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) parser.take(line);
  return parser.finish();
}

Result<std::vector<Mutant>> read_mutants(const std::string& folder) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".mutant") paths.push_back(entry.path());
  }
  if (paths.empty()) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("no *.mutant files in the folder '{}'", folder)};
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Mutant> mutants;
  for (const fs::path& path : paths) {
    const auto text = text_of(path);
    if (!text) return Trouble{TroubleKind::kUsage, "cannot read " + path.string()};
    auto mutant = parse_mutant(path.stem(), *text);
    if (!mutant.ok()) return mutant.trouble();
    mutants.push_back(std::move(*mutant));
  }
  return mutants;
}

Result<FilesByPath> apply_mutant(const Mutant& mutant, const std::string& root) {
  FilesByPath files;
  for (const Hunk& hunk : mutant.hunks) {
    const auto fail = [&](const std::string& what) {
      return Trouble{TroubleKind::kUsage, fmt::format("{}.mutant: the hunk of line {}: {}",
                                                      mutant.name, hunk.line, what)};
    };
    if (!files.contains(hunk.path)) {
      auto text = text_of(fs::path(root) / hunk.path);
      if (!text) return fail(fmt::format("cannot read {}/{}", root, hunk.path));
      files[hunk.path] = std::move(*text);
    }
    std::string& text = files[hunk.path];
    const auto places = places_of(text, hunk.old_text);
    if (places.size() != 1) {
      return fail(
          fmt::format("its old text must stand in {} exactly once, but stands there {} times",
                      hunk.path, places.size()));
    }
    text.replace(places[0], hunk.old_text.size(), hunk.new_text);
  }
  return files;
}

}  // namespace attest

#include "harness/corpus.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "harness/selection.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

// Adds the file's cases to those that are there already.
Outcome read_cases(const std::string& path, std::vector<CorpusCase>& cases) {
  std::ifstream file(path);
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::size_t hash = std::min(line.find('#'), line.size());
    const std::string_view token = trimmed(std::string_view(line).substr(0, hash));
    if (token.empty()) continue;
    const Result<Case> c = known_case(token);
    if (!c.ok()) return usage(fmt::format("{}:{}: {}", path, number, c.trouble().text));
    const bool is_new = std::none_of(cases.begin(), cases.end(),
                                     [&](const CorpusCase& known) { return known.c == *c; });
    const std::string_view bucket = std::string_view(line).substr(std::min(hash + 1, line.size()));
    if (is_new) cases.push_back({*c, std::string(trimmed(bucket))});
  }
  if (!file.eof()) return usage(fmt::format("{}: {}", path, std::strerror(errno)));
  return Done{};
}

// A file that is appended to, locked while it is open.
class Appender {
 public:
  explicit Appender(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666)) {
    if (file_ >= 0 && flock(file_, LOCK_EX) != 0) close(std::exchange(file_, -1));
  }
  ~Appender() {
    if (file_ >= 0) close(file_);
  }
  Appender(const Appender&) = delete;
  Appender& operator=(const Appender&) = delete;

  bool is_open() const { return file_ >= 0; }
  // All of the text or none of it; false: errno says why.
  bool append(std::string text) {
    const off_t size = lseek(file_, 0, SEEK_END);
    if (size < 0) return false;
    char last = '\n';  // a line that an editor left open is closed first
    if (size > 0 && pread(file_, &last, 1, size - 1) != 1) return false;
    if (last != '\n') text.insert(0, "\n");
    const ssize_t written = write(file_, text.data(), text.size());
    if (written == static_cast<ssize_t>(text.size()) && fsync(file_) == 0) return true;
    const int error = written >= 0 && written < static_cast<ssize_t>(text.size()) ? ENOSPC : errno;
    [[maybe_unused]] const int undone = ftruncate(file_, size);
    errno = error;
    return false;
  }

 private:
  int file_;
};

}  // namespace

Result<std::vector<CorpusCase>> read_corpus(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".tokens") paths.push_back(at->path().string());
  }
  if (error) return usage(fmt::format("the corpus {}: {}", folder, error.message()));
  std::sort(paths.begin(), paths.end());
  std::vector<CorpusCase> cases;
  for (const std::string& path : paths) {
    if (Outcome read = read_cases(path, cases); !read.ok()) return read.trouble();
  }
  return cases;
}

Outcome add_to_corpus(const std::string& folder, const Case& c, std::string_view bucket) {
  const std::string path = fmt::format("{}/{}.tokens", folder, c.kernel);
  const std::string line = fmt::format("{}{}{}", to_token(c), bucket.empty() ? "" : "  # ", bucket);
  const auto lost = [&](std::string_view why) {
    return Trouble{TroubleKind::kInfra, fmt::format("{}: {}; not kept: {}", path, why, line)};
  };
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return lost(error.message());
  Appender file(path);
  if (!file.is_open()) return lost(std::strerror(errno));
  std::vector<CorpusCase> cases;
  if (Outcome read = read_cases(path, cases); !read.ok()) return lost(read.trouble().text);
  const bool is_there = std::any_of(cases.begin(), cases.end(),
                                    [&](const CorpusCase& known) { return known.c == c; });
  if (is_there || file.append(line + "\n")) return Done{};
  return lost(std::strerror(errno));
}

}  // namespace attest

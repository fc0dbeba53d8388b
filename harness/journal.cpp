#include "harness/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

#include "harness/shell_word.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

Trouble of_disk(const std::string& path, int error) {
  return {TroubleKind::kInfra, fmt::format("{}: {}", path, std::strerror(error))};
}

// The process that holds the lock of this file, from the kernel's list; -1: it does not say.
int holder_of(int file) {
  struct stat what = {};
  if (fstat(file, &what) != 0) return -1;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "1: FLOCK  ADVISORY  WRITE 1234 fe:00:5678 0 EOF"
    std::istringstream words(line);
    std::string number, kind, mode, access, place;
    int pid = -1;
    words >> number >> kind >> mode >> access >> pid >> place;
    const std::string inode = place.substr(place.rfind(':') + 1);
    if (kind == "FLOCK" && inode == std::to_string(what.st_ino)) return pid;
  }
  return -1;
}

Trouble locked(const std::string& path, int file) {
  const int pid = holder_of(file);
  return usage(fmt::format("{}: {} writes it; wait for its end, or give another --out", path,
                           pid > 0 ? fmt::format("process {}", pid) : "another process"));
}

// Some network disks have no locks.
std::string no_lock(const std::string& path, int error) {
  return fmt::format(
      "{} cannot be locked: {}; a second nightly that writes it would not be noticed", path,
      std::strerror(error));
}

// Of a nightly that was killed before it had written what it is: nothing is lost with it.
bool says_nothing_yet(const std::string& text) {
  constexpr std::string_view kBegin = R"({"record":"run_begin")";
  return text.empty() || (text.find('\n') == std::string::npos && text.starts_with(kBegin));
}

}  // namespace

Result<Journal> Journal::open(const std::string& folder, bool make) {
  Journal journal;
  journal.folder_ = folder;
  journal.path_ = folder + "/" + kJournalName;
  std::error_code error;
  if (make) std::filesystem::create_directories(folder, error);
  if (error) return of_disk(journal.path_, error.value());
  const int made = make ? O_CREAT : 0;
  const int file = ::open(journal.path_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | made, 0666);
  if (file >= 0) journal.file_.reset(fdopen(file, "a"));
  if (journal.file_ == nullptr && errno == ENOENT) {
    return usage(fmt::format("{}: there is no run to resume", journal.path_));
  }
  if (journal.file_ == nullptr) return of_disk(journal.path_, errno);
  struct stat what = {};
  if (fstat(file, &what) != 0 || !S_ISREG(what.st_mode)) {
    return usage(journal.path_ + ": it is no regular file; give another --out");
  }
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return locked(journal.path_, file);
    journal.note_ = no_lock(journal.path_, errno);
  }
  std::ifstream there(journal.path_, std::ios::binary);
  journal.text_.assign(std::istreambuf_iterator<char>(there), {});
  return journal;
}

Result<Journal> Journal::begin(const std::string& folder) {
  auto journal = open(folder, true);
  if (!journal.ok()) return journal;
  if (!says_nothing_yet(journal->text_)) {
    return usage(
        fmt::format("{} is there already. To go on with its run: ./attest nightly "
                    "--resume {}; for a new one give another --out",
                    journal->path_, shell_word(folder)));
  }
  if (ftruncate(fileno(journal->file()), 0) != 0) return of_disk(journal->path_, errno);
  return journal;
}

Result<Journal> Journal::resume(const std::string& folder) {
  auto journal = open(folder, false);
  if (!journal.ok()) return journal;
  if (says_nothing_yet(journal->text_)) {
    return usage(
        fmt::format("{}: its run ended before it began; begin one: ./attest nightly --out "
                    "{}",
                    journal->path_, shell_word(folder)));
  }
  if (Outcome mended = journal->mend(); !mended.ok()) return mended.trouble();
  auto before = parse_results(journal->text_, journal->path_);
  if (!before.ok()) return before.trouble();
  journal->before_ = std::move(*before);
  return journal;
}

// A line that lacks nothing but its end is whole: its case must not run again.
Outcome Journal::mend() {
  const std::size_t begin = text_.rfind('\n') + 1;  // 0 where there is none
  const std::size_t cut = text_.size() - begin;
  if (cut == 0) return Done{};
  const int file = fileno(file_.get());
  if (Json::accept(text_.begin() + static_cast<std::ptrdiff_t>(begin), text_.end())) {
    if (write(file, "\n", 1) != 1) return of_disk(path_, errno);
    text_ += '\n';
    return Done{};
  }
  if (ftruncate(file, static_cast<off_t>(begin)) != 0) return of_disk(path_, errno);
  text_.resize(begin);
  if (!note_.empty()) note_ += '\n';
  note_ += fmt::format("{}: its last line was cut short; its {} bytes are taken off", path_, cut);
  return Done{};
}

std::set<std::string> Journal::ends_nightlies() const {
  std::map<std::string, int> begun;  // how often, of those that did not end
  std::vector<std::string> of_run;   // what began since the last run_begin
  const auto count = [&] {
    for (const std::string& token : of_run) ++begun[token];
    of_run.clear();
  };
  std::istringstream lines(text_);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(R"({"record":"case_end")")) continue;  // most of the text
    const Json record = Json::parse(line, nullptr, false);
    const std::string kind = record.is_object() ? record.value("record", "") : "";
    if (kind == "run_begin") count();
    if (kind == "case_begin") of_run.push_back(record.value("token", ""));
    if (kind == "run_end") of_run.clear();  // it was stopped in order
  }
  count();
  for (const CaseRecord& record : before_->cases) begun.erase(record.planned_token());
  std::set<std::string> twice;
  for (const auto& [token, times] : begun) {
    if (times >= 2) twice.insert(token);
  }
  return twice;
}

}  // namespace attest

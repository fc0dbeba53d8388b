#include "harness/report_files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "harness/core/part_file.hpp"
#include "harness/out_file.hpp"

namespace attest {
namespace {

namespace fs = std::filesystem;

Trouble trouble_with(const std::string& path, const std::string& why) {
  return {TroubleKind::kInfra, fmt::format("{}: {}", path, why)};
}

// `named`: in the message.
Outcome write_to(const std::string& path, const std::string& text, const std::string& named) {
  const std::unique_ptr<std::FILE, FileCloser> file(std::fopen(path.c_str(), "w"));
  if (file == nullptr) return trouble_with(named, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  if (!written || std::fflush(file.get()) != 0) return trouble_with(named, std::strerror(errno));
  // A full disk may show only here; what is no file needs no fsync.
  if (fsync(fileno(file.get())) != 0 && errno != EINVAL && errno != EROFS) {
    return trouble_with(named, std::strerror(errno));
  }
  return Done{};
}

// Where the file itself is: a link is not replaced by what it points to. Trouble: a folder, or
// nothing at the end of a chain of links.
Result<std::string> file_behind(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return trouble_with(path, "it is a folder");
  if (!fs::is_symlink(path, error)) return path;
  const fs::path real = fs::weakly_canonical(path, error);
  if (error) return trouble_with(path, error.message());
  return real.string();
}

bool is_special(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_regular_file(path, error);
}

}  // namespace

Outcome write_whole_file(const std::string& path, const std::string& text) {
  const auto file = file_behind(path);
  if (!file.ok()) return file.trouble();
  if (is_special(*file)) return write_to(*file, text, path);
  const auto part = new_part_file(*file);
  if (!part.ok()) return part.trouble();
  const Outcome written = write_to(*part, text, path);
  if (written.ok()) return put_in_place(*part, *file);
  std::remove(part->c_str());
  return written;
}

Outcome clear_file(const std::string& path) {
  const auto file = file_behind(path);
  if (!file.ok()) return file.trouble();
  if (is_special(*file)) return Done{};
  const auto part = new_part_file(*file);
  if (!part.ok()) return part.trouble();
  const Outcome written = write_to(*part, {}, path);
  std::remove(part->c_str());
  if (written.ok()) std::remove(file->c_str());
  return written;
}

Outcome write_report_files(const Results& results, const Trend& trend, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return trouble_with(folder, error.message());
  for (const ReportFormat& format : all_report_formats()) {
    if (format.file.empty()) continue;
    const Outcome written =
        write_whole_file(fmt::format("{}/{}", folder, format.file), format.render(results, trend));
    if (!written.ok()) return written;
  }
  return Done{};
}

}  // namespace attest

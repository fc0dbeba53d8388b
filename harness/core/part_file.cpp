#include "harness/core/part_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace attest {
namespace {

Trouble trouble_with(const std::string& path) {
  return {TroubleKind::kInfra, fmt::format("{}: {}", path, std::strerror(errno))};
}

bool is_on_disk(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool synced = fsync(file) == 0 || errno == EINVAL;  // file systems that know no fsync
  const int why = errno;
  close(file);
  errno = why;
  return synced;
}

}  // namespace

Result<std::string> new_part_file(const std::string& path) {
  static std::atomic<int> number = 0;
  // What a process of this number left when it was killed is passed over.
  for (int tries = 0; tries < 1000; ++tries) {
    std::string part = fmt::format("{}.{}-{}.part", path, getpid(), ++number);
    const int file = open(part.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return part;
    }
    if (errno != EEXIST) break;
  }
  return trouble_with(path);
}

Outcome put_in_place(const std::string& part, const std::string& path) {
  if (is_on_disk(part) && std::rename(part.c_str(), path.c_str()) == 0) return Done{};
  Trouble trouble = trouble_with(path);
  std::remove(part.c_str());
  return trouble;
}

}  // namespace attest

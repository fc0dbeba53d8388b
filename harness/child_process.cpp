#include "harness/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

extern char** environ;

namespace attest {
namespace {

Trouble trouble(const std::string& what, int error) {
  return {TroubleKind::kInfra, fmt::format("{}: {}", what, std::strerror(error))};
}

// The error of posix_spawnp.
int spawn(const std::vector<std::string>& arguments, int output, pid_t& child) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t
      group_of_its_own;  // what it starts in turn ends with it; Ctrl-C is for us alone
  posix_spawnattr_init(&group_of_its_own);
  posix_spawnattr_setflags(&group_of_its_own, POSIX_SPAWN_SETPGROUP);
  const int error =
      posix_spawnp(&child, argv[0], &actions, &group_of_its_own, argv.data(), environ);
  posix_spawnattr_destroy(&group_of_its_own);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

constexpr std::size_t kMostOutput = std::size_t{1} << 20;  // bytes that are kept: the first ones

// Until the child closes its output, or the time is over (false).
bool collect(int from, std::chrono::steady_clock::time_point end, std::string& output) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    pollfd readable{from, POLLIN, 0};
    if (poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 1000))) <= 0)
      continue;
    char bytes[4096];
    const ssize_t got = read(from, bytes, sizeof bytes);
    if (got == 0 || (got < 0 && errno != EINTR)) return true;
    if (got > 0 && output.size() < kMostOutput) output.append(bytes, static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<ChildEnd> run_child(const std::vector<std::string>& arguments, double limit_s) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return trouble("no pipe", errno);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<std::int64_t>(limit_s * 1000));
  pid_t child = -1;
  const int error = spawn(arguments, pipe_ends[1], child);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return trouble("cannot start " + arguments[0], error);
  }
  ChildEnd result;
  result.timed_out = !collect(pipe_ends[0], end, result.output);
  close(pipe_ends[0]);
  if (result.timed_out) kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) result.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  return result;
}

}  // namespace attest

#include "harness/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "harness/worker.hpp"

extern char** environ;

namespace attest {
namespace {

constexpr std::size_t kMostOutput = 4096;  // bytes that are kept: the last ones
constexpr int kSendLimitSeconds = 10;      // a stopped worker that reads nothing ends no night

Trouble no_start(const std::string& what) {
  return {TroubleKind::kInfra,
          fmt::format("a worker cannot be started: {}: {}", what, std::strerror(errno))};
}

// The error of posix_spawn, which the parent's threads need: a fork that goes on in this program
// would hold their locks for ever.
int spawn(const std::string& program, const std::vector<std::string>& arguments, int socket,
          int output, pid_t& child) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, socket, kWorkerSocket);
  // What asks to end is for the parent alone, which the worker does not outlive; also where it goes
  // to all processes of a service or a job. Blocked, it does not reach it from its first moment on.
  sigset_t requests;
  sigemptyset(&requests);
  for (const int request : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&requests, request);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &requests);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const int error =
      posix_spawn(&child, program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// True: it has ended, and can still be waited for.
bool has_ended(pid_t pid) {
  siginfo_t info = {};
  return waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
         info.si_pid == pid;
}

}  // namespace

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(const std::string& program,
                                                            std::vector<std::string> arguments) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return no_start("socket");
  int output[2];
  if (pipe2(output, O_CLOEXEC) != 0) {
    close(sockets[0]);
    close(sockets[1]);
    return no_start("pipe");
  }
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  const timeval limit = {kSendLimitSeconds, 0};
  setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  arguments.insert(arguments.begin(), "attest");
  arguments.insert(arguments.end(), {"--parent", std::to_string(getpid())});
  pid_t child = -1;
  const int error = spawn(program, arguments, sockets[1], output[1], child);
  close(sockets[1]);
  close(output[1]);
  if (error != 0) {
    close(sockets[0]);
    close(output[0]);
    errno = error;
    return no_start(program);
  }
  return std::unique_ptr<WorkerProcess>(new WorkerProcess(child, sockets[0], output[0]));
}

WorkerProcess::~WorkerProcess() {
  if (pid_ > 0) {
    kill(-pid_, SIGKILL);
    wait();
  }
  close(output_);
}

void WorkerProcess::take_output() {
  char bytes[4096];
  for (ssize_t got = 0; (got = read(output_, bytes, sizeof bytes)) > 0;) {
    printed_.append(bytes, static_cast<std::size_t>(got));
    if (printed_.size() > kMostOutput) printed_.erase(0, printed_.size() - kMostOutput);
  }
}

std::string WorkerProcess::last_words() const {
  const std::size_t end = printed_.find_last_not_of(" \t\r\n");
  return end == std::string::npos ? "" : printed_.substr(0, end + 1);
}

std::int64_t WorkerProcess::memory_bytes() const {
  std::ifstream file(fmt::format("/proc/{}/statm", pid_));
  std::int64_t pages = 0, resident = 0;
  file >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

int WorkerProcess::wait() {
  // Its sockets close a moment before it can be waited for; one that goes on without them is ended.
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!has_ended(pid_) && std::chrono::steady_clock::now() < patience) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  kill(-pid_, SIGKILL);  // while it is not waited for, nobody else can have its number
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  take_output();
  return status;
}

}  // namespace attest

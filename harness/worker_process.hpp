// WorkerProcess: a worker (worker.hpp) as its parent sees it.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/trouble.hpp"
#include "harness/line_socket.hpp"

namespace attest {

class WorkerProcess {
 public:
  // `arguments`: of the program, "worker" and its options; --parent is added. Trouble kInfra: it
  // cannot be started.
  static Result<std::unique_ptr<WorkerProcess>> start(const std::string& program,
                                                      std::vector<std::string> arguments);
  ~WorkerProcess();  // kills it, and what it started
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  LineSocket& socket() { return socket_; }
  pid_t pid() const { return pid_; }

  // What it prints: the last of it is kept, for the reason of a crash.
  int output() const { return output_; }  // to poll
  void take_output();
  void forget_output() { printed_.clear(); }
  std::string last_words() const;

  std::int64_t memory_bytes() const;  // resident

  // Of one whose socket has closed: waits for its end, and ends what it started. waitpid's status.
  int wait();

 private:
  WorkerProcess(pid_t pid, int socket, int output) : pid_(pid), socket_(socket), output_(output) {}

  pid_t pid_;  // -1: it was waited for
  LineSocket socket_;
  int output_;
  std::string printed_;
};

}  // namespace attest

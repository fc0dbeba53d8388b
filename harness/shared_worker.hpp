// SharedWorker: one worker process (worker.hpp) that runs cases of many threads beside each other.
// A GPU is shared by the threads of a process at once, by processes in turns of milliseconds: with
// a process a thread, a case of a dozen launches takes as long as all others' turns.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/worker_process.hpp"
#include "reports/reporter.hpp"

namespace attest {

class SharedWorker {
 public:
  // `arguments`: of the program, "worker" and its options. It is started when the first case comes,
  // and again when it has ended. `limit_s`: a case without an answer for so long ends it.
  SharedWorker(std::string program, std::vector<std::string> arguments, double limit_s);
  ~SharedWorker();
  SharedWorker(const SharedWorker&) = delete;
  SharedWorker& operator=(const SharedWorker&) = delete;

  // From any thread. Empty: the process ended, or lost its device, before the case did. Whose doing
  // that was only shows where each runs alone.
  std::optional<CaseRecord> run(const std::string& token);

 private:
  struct Waiting {
    bool is_over = false;
    std::optional<CaseRecord> record;
  };
  void start();
  void listen();
  bool heed(const std::string& line);  // false: the process is of no use any more
  void end_all();

  const std::string program_;
  const std::vector<std::string> arguments_;
  const double limit_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<WorkerProcess> process_;
  std::thread listener_;
  bool is_running_ = false;  // from its start until the listener has seen its end
  bool was_ready_ = false, is_hopeless_ = false;
  std::map<std::int64_t, Waiting*> waiting_;
  std::int64_t next_ = 0;
};

}  // namespace attest

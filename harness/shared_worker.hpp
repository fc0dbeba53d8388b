// SharedWorker: one worker process (worker.hpp) that runs cases of many threads beside each other.
// A GPU is shared by the threads of a process at once, by processes in turns of milliseconds: with
// a process a thread, a case of a dozen launches takes as long as all others' turns.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "harness/worker_end.hpp"
#include "harness/worker_process.hpp"
#include "reports/reporter.hpp"

namespace attest {

// The end of a process that ran cases. Whose doing it was only shows where each case in flight runs
// alone.
class SharedEnd {
 public:
  // `words`: what happened; `in_flight`: tokens; without any, it is the next case's to tell.
  SharedEnd(std::string words, const std::vector<std::string>& in_flight);

  const std::string& text() const { return text_; }  // with those in flight
  // Told by each in flight what it came to alone, from any thread. True: all have, this one last,
  // and none of it explains the end.
  bool is_unexplained_after(Status alone);

 private:
  const std::string text_;
  std::mutex mutex_;
  std::size_t missing_;
  bool is_explained_ = false;
};

// Without a record the process ended, or lost its device, before the case did. `end` is null where
// that was not a case's doing: it never began, was killed from outside.
struct SharedAnswer {
  std::optional<CaseRecord> record = {};
  std::shared_ptr<SharedEnd> end = {};
};

class SharedWorker {
 public:
  // `arguments`: of the program, "worker" and its options. It is started when the first case comes,
  // and again when it has ended. `limit_s`: a case without an answer for so long ends it.
  SharedWorker(std::string program, std::vector<std::string> arguments, double limit_s);
  ~SharedWorker();
  SharedWorker(const SharedWorker&) = delete;
  SharedWorker& operator=(const SharedWorker&) = delete;

  SharedAnswer run(const std::string& token);  // from any thread

 private:
  struct Waiting {
    std::string token;
    bool is_over = false;
    SharedAnswer answer = {};
  };
  void start();
  void listen();
  void hear(WorkerProcess& process);     // until it says no more, or is of no use any more
  bool heed(const std::string& line);    // false: it is of no use any more
  void kill_process(std::string words);  // with the mutex held
  void end_all(const WorkerEnd& end);

  const std::string program_;
  const std::vector<std::string> arguments_;
  const double limit_s_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<WorkerProcess> process_;
  std::thread listener_;
  bool is_running_ = false;   // from its start until the listener has seen its end
  bool is_killable_ = false;  // nobody else can have its number yet
  bool was_ready_ = false, is_hopeless_ = false;
  std::string why_killed_;                // empty: it was not
  std::shared_ptr<SharedEnd> unclaimed_;  // of a process that ended between two cases
  std::map<std::int64_t, Waiting*> waiting_;
  std::int64_t next_ = 0;
};

}  // namespace attest

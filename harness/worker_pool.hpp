// WorkerPool: cases in worker processes. What kills or stops a process costs the case that it ran,
// at most: it runs once more in a fresh process, after a control case, and decide()
// (worker_end.hpp) says what both ends mean. What a process itself says of a case is not tried again:
// also not that its device crashed or hung there, which names the kernel. An event loop: all of it is called from one thread.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/ledger.hpp"
#include "harness/worker_end.hpp"
#include "harness/worker_process.hpp"

namespace attest {

struct Job {
  std::string token;
  double limit_s = 60;    // without an answer for so long it hangs
  bool is_drawn = false;  // by fuzz
  bool is_trial = false;  // beside the run, and not on its record
};

// Where the cases come from, and where their verdicts go.
class JobSource {
 public:
  virtual ~JobSource() = default;
  virtual std::optional<Job> next() = 0;  // that begins now; empty: none, now
  virtual void ended(const Job& job, CaseRecord record) = 0;
  // What is killed from outside now, as everything is when a machine goes down, does not end.
  virtual bool is_stopping() const { return false; }
};

// Cheap, and passed by the kernel that comes with the program.
inline constexpr std::string_view kControlToken = "v1:k=mla_decode:h=1:s=65:splits=2";

struct PoolOptions {
  // The arguments of each worker: {"worker", "--device", "emu:gfx942"}. A machine with several
  // devices has some of each.
  std::vector<std::vector<std::string>> workers;
  std::int64_t memory_bytes = 0;  // that one of them may take
  double start_limit_s = 60;      // until it is ready, and for the control case
  std::string program = "/proc/self/exe";
};

class WorkerPool {
 public:
  // All outlive it.
  WorkerPool(PoolOptions options, JobSource& source, const Ledger& ledger);
  ~WorkerPool();

  // Gives jobs to whoever is idle, waits a moment for something to happen, and deals with it.
  void step();
  bool is_busy() const;
  void kill_all();  // the jobs that run do not end

  // Why nothing can run any more; empty: it can.
  const Trouble& trouble() const { return trouble_; }

 private:
  class Worker;
  friend class Worker;

  void watch();
  void deliver(const Job& job, Decision decision);

  PoolOptions options_;
  JobSource& source_;
  const Ledger& ledger_;
  std::string target_;
  int machine_in_a_row_ = 0;
  Trouble trouble_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

}  // namespace attest

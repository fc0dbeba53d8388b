#include "harness/worker_pool.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTickMs = 100;          // between two looks at clocks and memory
constexpr double kFrozenSeconds = 3;  // between two looks: not only the workers stood still
constexpr int kMostFailedStarts = 3;  // of one worker, in a row
constexpr int kMostMachineEnds = 3;   // cases in a row whose control case failed

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// How often the machine, or a container that it holds, ran out of memory and ended a process.
std::int64_t oom_kills() {
  std::ifstream file("/proc/vmstat");
  std::string name;
  for (std::int64_t count = 0; file >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return 0;
}

}  // namespace

// The place of a worker: its process, where there is one, and what that does.
class WorkerPool::Worker {
 public:
  Worker(WorkerPool& pool, std::vector<std::string> arguments)
      : pool_(pool), arguments_(std::move(arguments)) {}

  bool is_busy() const { return job_.has_value(); }

  void take(Job job) {
    job_ = std::move(job);
    begin_ = Clock::now();
    if (state_ == State::kIdle) {
      run(State::kFirstTry);
    } else {
      start();
    }
  }

  void add_to(std::vector<pollfd>& descriptors) const {
    if (!process_) return;
    descriptors.push_back({process_->socket().descriptor(), POLLIN, 0});
    descriptors.push_back({process_->output(), POLLIN, 0});
  }

  // Takes what its process says, or that it has ended.
  void listen() {
    const WorkerProcess* const heard = process_.get();
    if (heard == nullptr) return;
    process_->take_output();
    const bool is_open = process_->socket().receive(false);
    while (process_.get() == heard) {
      const auto line = process_->socket().next_line();
      if (!line) break;
      heed(*line);
    }
    if (is_open || process_.get() != heard) return;
    const int status = process_->wait();
    const WorkerEnd end = exited(status, oom_kills() > oom_kills_before_, process_->last_words());
    process_.reset();
    ended(end);
  }

  // Time that is no time of its process.
  void forgive(Clock::duration time) { since_ = std::min(since_ + time, Clock::now()); }

  void check_limits() {
    if (!process_ || state_ == State::kIdle) return;
    if (seconds_since(since_) > limit_s_) {
      kill_and_end(hung(limit_s_));
    } else if (is_over(pool_.options_.memory_bytes)) {
      kill_and_end(out_of_memory(pool_.options_.memory_bytes));
    }
  }

  void abandon() {
    process_.reset();
    job_.reset();
    first_.reset();
    state_ = State::kAbsent;
  }

 private:
  enum class State {
    kAbsent,     // there is no process
    kStarting,   // it is not ready
    kIdle,       //
    kFirstTry,   // it runs the job
    kControl,    // the job ended without an answer; a fresh process runs the control case
    kSecondTry,  // the same process runs the job
  };

  void enter(State state, double limit_s) {
    state_ = state;
    limit_s_ = limit_s;
    since_ = Clock::now();
  }

  bool is_over(std::int64_t bytes) const { return bytes > 0 && process_->memory_bytes() > bytes; }

  void start() {
    auto started = WorkerProcess::start(pool_.options_.program, arguments_);
    if (!started.ok()) {
      pool_.trouble_ = started.trouble();
      return abandon();
    }
    process_ = std::move(*started);
    leaves_ = false;
    oom_kills_before_ = oom_kills();
    enter(State::kStarting, pool_.options_.start_limit_s);
  }

  void run(State state) {
    const bool is_control = state == State::kControl;
    Json told = {{"control", kControlToken}};
    if (!is_control) told = {{"run", job_->token}, {"drawn", job_->is_drawn}};
    std::string line = to_line(told);
    line.pop_back();
    oom_kills_before_ = oom_kills();
    process_->forget_output();
    enter(state, is_control ? pool_.options_.start_limit_s : job_->limit_s);
    process_->socket().send(line);  // of one that has ended its socket tells
  }

  void heed(const std::string& line) {
    try {
      const Json json = Json::parse(line);
      if (state_ != State::kStarting) {
        leaves_ = json.value("leaves", false);
        return ended(answered(case_of(json)));
      }
      if (json.contains("trouble")) {
        const bool is_usage = json.value("usage", false);
        pool_.trouble_ = {is_usage ? TroubleKind::kUsage : TroubleKind::kInfra,
                          json.at("trouble").get<std::string>()};
        return abandon();
      }
      pool_.target_ = json.at("ready").get<std::string>();
      failed_starts_ = 0;
      run(first_ ? State::kControl : State::kFirstTry);
    } catch (const Json::exception&) {
      kill_and_end(no_answer());
    }
  }

  void kill_and_end(WorkerEnd end) {
    end.last_words = process_->last_words();
    process_.reset();
    ended(end);
  }

  void ended(const WorkerEnd& end) {
    if (end.kind == WorkerEnd::Kind::kKilled && pool_.source_.is_stopping()) return abandon();
    switch (state_) {
      case State::kStarting:
        return did_not_start(end);
      case State::kAbsent:
      case State::kIdle:
        state_ = process_ ? State::kIdle : State::kAbsent;
        return;
      case State::kFirstTry:
        if (end.kind == WorkerEnd::Kind::kAnswered) return finish({end.record, false});
        first_ = end;
        return start();
      case State::kControl:
        control_ = end;
        if (has_passed(end)) return run(State::kSecondTry);
        process_.reset();
        return finish(decide(job_->token, *first_, end, std::nullopt));
      case State::kSecondTry:
        return finish(decide(job_->token, *first_, control_, end));
    }
  }

  void did_not_start(const WorkerEnd& end) {
    if (first_) return finish(decide(job_->token, *first_, end, std::nullopt));
    if (++failed_starts_ < kMostFailedStarts) return start();
    pool_.trouble_ = {TroubleKind::kInfra,
                      fmt::format("a worker, started {} times, {} before it was ready\n{}",
                                  failed_starts_, end.words, end.last_words)};
    abandon();
  }

  void finish(Decision decision) {
    if (decision.record.total_ms == 0) decision.record.total_ms = 1000 * seconds_since(begin_);
    // What a process leaves behind of a case is not the next one's.
    if (process_ && (leaves_ || is_over(pool_.options_.memory_bytes / 2))) process_.reset();
    state_ = process_ ? State::kIdle : State::kAbsent;
    first_.reset();
    const Job job = *std::exchange(job_, std::nullopt);
    pool_.deliver(job, std::move(decision));
  }

  WorkerPool& pool_;
  const std::vector<std::string> arguments_;
  State state_ = State::kAbsent;
  std::unique_ptr<WorkerProcess> process_;
  std::optional<Job> job_;
  std::optional<WorkerEnd> first_;  // of the job, where it is tried again
  WorkerEnd control_;
  Clock::time_point begin_, since_;  // of the job; of the state
  double limit_s_ = 0;               // of the state
  std::int64_t oom_kills_before_ = 0;
  int failed_starts_ = 0;
  bool leaves_ = false;  // it runs nothing else
};

WorkerPool::WorkerPool(PoolOptions options, JobSource& source, const Ledger& ledger)
    : options_(std::move(options)), source_(source), ledger_(ledger) {
  for (const auto& arguments : options_.workers) {
    workers_.push_back(std::make_unique<Worker>(*this, arguments));
  }
}

WorkerPool::~WorkerPool() = default;

void WorkerPool::step() {
  for (const auto& worker : workers_) {
    if (worker->is_busy()) continue;
    auto job = source_.next();
    if (!job) break;
    worker->take(std::move(*job));
    if (!trouble_.text.empty()) return;
  }
  watch();
}

void WorkerPool::watch() {
  std::vector<pollfd> descriptors;
  for (const auto& worker : workers_) worker->add_to(descriptors);
  poll(descriptors.data(), descriptors.size(), kTickMs);
  const Clock::duration since_last = Clock::now() - looked_;
  looked_ += since_last;
  if (std::chrono::duration<double>(since_last).count() > kFrozenSeconds) {
    for (const auto& worker : workers_) worker->forgive(since_last);
  }
  for (const auto& worker : workers_) {
    worker->listen();
    worker->check_limits();
  }
}

bool WorkerPool::is_busy() const {
  for (const auto& worker : workers_) {
    if (worker->is_busy()) return true;
  }
  return false;
}

void WorkerPool::kill_all() {
  for (const auto& worker : workers_) worker->abandon();
}

void WorkerPool::deliver(const Job& job, Decision decision) {
  machine_in_a_row_ = decision.blames_machine ? machine_in_a_row_ + 1 : 0;
  Verdict& verdict = decision.record.verdict;
  if (machine_in_a_row_ == kMostMachineEnds) {
    trouble_ = {TroubleKind::kInfra, fmt::format("{} cases in a row, the last of them {}",
                                                 kMostMachineEnds, verdict.reason)};
  }
  if (verdict.bucket.starts_with("process.")) {  // of the others the worker has asked the ledger
    if (const auto c = parse_token(job.token); c.ok()) {
      verdict = ledger_.after(*c, target_, std::move(verdict));
    }
  }
  source_.ended(job, std::move(decision.record));
}

}  // namespace attest

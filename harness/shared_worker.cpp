#include "harness/shared_worker.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "harness/core/check.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

std::string text_of(const std::string& words, const std::vector<std::string>& in_flight) {
  const std::string said = "a process that runs cases beside each other " + words;
  if (in_flight.empty()) return said + "\nno case was in flight";
  return fmt::format("{}\nin flight:\n  {}", said, fmt::join(in_flight, "\n  "));
}

// "lost its device: crashed: ...", of an answer.
std::string loss_of(const CaseRecord& record) {
  if (record.verdict.reason.empty()) return "lost its device";
  return fmt::format("lost its device: {}: {}", to_string(record.verdict.status),
                     record.verdict.reason);
}

}  // namespace

SharedEnd::SharedEnd(std::string words, const std::vector<std::string>& in_flight)
    : text_(text_of(words, in_flight)), missing_(std::max<std::size_t>(1, in_flight.size())) {}

bool SharedEnd::is_unexplained_after(Status alone) {
  const std::lock_guard lock(mutex_);
  ATTEST_CHECK(missing_ > 0);
  // What is known to fail explains it as well as what is not; what ended without a verdict is not
  // green either.
  const bool explains = is_failure(alone) || alone == Status::kXfail || alone == Status::kInfra;
  is_explained_ = is_explained_ || explains;
  return --missing_ == 0 && !is_explained_;
}

SharedWorker::SharedWorker(std::string program, std::vector<std::string> arguments, double limit_s)
    : program_(std::move(program)), arguments_(std::move(arguments)), limit_s_(limit_s) {}

SharedWorker::~SharedWorker() {
  {
    const std::lock_guard lock(mutex_);
    kill_process("is not needed any more");
  }
  if (listener_.joinable()) listener_.join();
}

SharedAnswer SharedWorker::run(const std::string& token) {
  std::unique_lock lock(mutex_);
  if (unclaimed_) return {{}, std::exchange(unclaimed_, nullptr)};
  if (!is_running_) start();
  changed_.wait(lock, [&] { return process_ || !is_running_; });
  if (!is_running_) return {};
  Waiting waiting{token};
  const std::int64_t id = next_++;
  waiting_.emplace(id, &waiting);
  process_->socket().send(Json{{"run", token}, {"id", id}}.dump());
  const auto limit = std::chrono::duration<double>(limit_s_);
  if (!changed_.wait_for(lock, limit, [&] { return waiting.is_over; })) {
    kill_process(fmt::format("gave no answer within {:.3g} s to {}", limit_s_, token));
    changed_.wait(lock, [&] { return waiting.is_over; });
  }
  waiting_.erase(id);
  return std::move(waiting.answer);
}

void SharedWorker::start() {
  if (is_hopeless_) return;
  if (listener_.joinable()) listener_.join();  // it has let go of the mutex for good
  process_.reset();
  is_running_ = true;
  was_ready_ = false;
  why_killed_.clear();
  listener_ = std::thread([this] { listen(); });
}

// A worker ends with the thread that started it (prctl, PR_SET_PDEATHSIG): that is this one.
void SharedWorker::listen() {
  auto started = WorkerProcess::start(program_, arguments_);
  if (!started.ok()) return end_all({});
  WorkerProcess& process = **started;
  {
    const std::lock_guard lock(mutex_);
    process_ = std::move(*started);
    is_killable_ = true;
    changed_.notify_all();
  }
  hear(process);
  {
    const std::lock_guard lock(mutex_);
    is_killable_ = false;
  }
  const int status = process.wait();
  end_all(exited(status, false, process.last_words()));
}

void SharedWorker::hear(WorkerProcess& process) {
  LineSocket& socket = process.socket();
  for (bool is_open = true; is_open;) {
    pollfd descriptors[] = {{socket.descriptor(), POLLIN, 0}, {process.output(), POLLIN, 0}};
    poll(descriptors, 2, 1000);
    process.take_output();
    is_open = socket.receive(false);
    while (const auto line = socket.next_line()) {
      if (!heed(*line)) return;
    }
  }
}

bool SharedWorker::heed(const std::string& line) {
  const std::lock_guard lock(mutex_);
  try {
    const Json json = Json::parse(line);
    was_ready_ = was_ready_ || json.contains("ready");
    if (!json.contains("id")) return true;
    CaseRecord record = case_of(json);
    // Where the device is lost, what any of its threads saw may be another's doing.
    if (json.value("leaves", false)) {
      kill_process(loss_of(record));
      return false;
    }
    const auto found = waiting_.find(json.at("id").get<std::int64_t>());
    if (found == waiting_.end()) return true;
    found->second->answer.record = std::move(record);
    found->second->is_over = true;
    changed_.notify_all();
    return true;
  } catch (const Json::exception&) {
    kill_process("sent what is no answer");
    return false;
  }
}

void SharedWorker::kill_process(std::string words) {
  if (!is_killable_) return;
  if (why_killed_.empty()) why_killed_ = std::move(words);
  ATTEST_CHECK(process_->pid() > 0);
  kill(process_->pid(), SIGKILL);
}

void SharedWorker::end_all(const WorkerEnd& end) {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  is_hopeless_ = !was_ready_;
  std::vector<std::string> in_flight;
  for (const auto& [id, waiting] : waiting_) {
    if (!waiting->is_over) in_flight.push_back(waiting->token);
  }
  std::shared_ptr<SharedEnd> told;
  if (was_ready_ && (!why_killed_.empty() || end.kind == WorkerEnd::Kind::kCrashed)) {
    std::string words = why_killed_.empty() ? end.words : why_killed_;
    if (!end.last_words.empty()) words += "\nits last words: " + end.last_words;
    told = std::make_shared<SharedEnd>(std::move(words), in_flight);
  }
  if (in_flight.empty()) unclaimed_ = told;
  for (const auto& [id, waiting] : waiting_) {
    if (!std::exchange(waiting->is_over, true)) waiting->answer.end = told;
  }
  changed_.notify_all();
}

}  // namespace attest

#include "harness/shared_worker.hpp"

#include <poll.h>

#include <chrono>
#include <csignal>
#include <utility>

#include "reports/run/verdict_json.hpp"

namespace attest {

SharedWorker::SharedWorker(std::string program, std::vector<std::string> arguments, double limit_s)
    : program_(std::move(program)), arguments_(std::move(arguments)), limit_s_(limit_s) {}

SharedWorker::~SharedWorker() {
  if (process_ && is_running_) kill(process_->pid(), SIGKILL);
  if (listener_.joinable()) listener_.join();
}

std::optional<CaseRecord> SharedWorker::run(const std::string& token) {
  std::unique_lock lock(mutex_);
  if (!is_running_) start();
  changed_.wait(lock, [&] { return process_ || !is_running_; });
  if (!is_running_) return std::nullopt;
  Waiting waiting;
  const std::int64_t id = next_++;
  waiting_.emplace(id, &waiting);
  process_->socket().send(Json{{"run", token}, {"id", id}}.dump());
  const auto limit = std::chrono::duration<double>(limit_s_);
  if (!changed_.wait_for(lock, limit, [&] { return waiting.is_over; })) {
    kill(process_->pid(), SIGKILL);
    changed_.wait(lock, [&] { return waiting.is_over; });
  }
  waiting_.erase(id);
  return std::move(waiting.record);
}

void SharedWorker::start() {
  if (is_hopeless_) return;
  if (listener_.joinable()) listener_.join();  // it has let go of the mutex for good
  process_.reset();
  is_running_ = true;
  was_ready_ = false;
  listener_ = std::thread([this] { listen(); });
}

// A worker ends with the thread that started it (prctl, PR_SET_PDEATHSIG): that is this one.
void SharedWorker::listen() {
  auto started = WorkerProcess::start(program_, arguments_);
  if (!started.ok()) return end_all();
  LineSocket& socket = (*started)->socket();
  WorkerProcess& process = **started;
  {
    const std::lock_guard lock(mutex_);
    process_ = std::move(*started);
    changed_.notify_all();
  }
  for (bool is_open = true; is_open;) {
    pollfd descriptors[] = {{socket.descriptor(), POLLIN, 0}, {process.output(), POLLIN, 0}};
    poll(descriptors, 2, 1000);
    process.take_output();
    is_open = socket.receive(false);
    while (const auto line = socket.next_line()) {
      if (heed(*line)) continue;
      kill(process.pid(), SIGKILL);
      is_open = false;
      break;
    }
  }
  process.wait();
  end_all();
}

bool SharedWorker::heed(const std::string& line) {
  const Json json = Json::parse(line);
  const std::lock_guard lock(mutex_);
  was_ready_ = was_ready_ || json.contains("ready");
  if (!json.contains("id")) return true;
  // Where the device is lost, what any of its threads saw may be another's doing.
  if (json.value("leaves", false)) return false;
  const auto found = waiting_.find(json.at("id").get<std::int64_t>());
  if (found == waiting_.end()) return true;
  found->second->record = case_of(json);
  found->second->is_over = true;
  changed_.notify_all();
  return true;
}

void SharedWorker::end_all() {
  const std::lock_guard lock(mutex_);
  is_running_ = false;
  is_hopeless_ = !was_ready_;
  for (const auto& [id, waiting] : waiting_) waiting->is_over = true;
  changed_.notify_all();
}

}  // namespace attest

#include "harness/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <fstream>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "harness/case_runner.hpp"
#include "harness/case_source.hpp"
#include "harness/commands.hpp"
#include "harness/device/device_list.hpp"
#include "harness/device/gpu/streams.hpp"
#include "harness/ledger.hpp"
#include "harness/line_socket.hpp"
#include "harness/machine.hpp"
#include "harness/mutant_build.hpp"
#include "harness/reference_device.hpp"
#include "harness/runner.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {

std::function<void(const std::string& token)> before_case;

namespace {

bool has_socket() {
  struct stat what = {};
  return fstat(kWorkerSocket, &what) == 0 && S_ISSOCK(what.st_mode);
}

// Ends with its parent, leaves no core, and is the first that a machine without memory ends. False:
// the parent has ended.
bool become_worker(int parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return false;
  fcntl(kWorkerSocket, F_SETFD, FD_CLOEXEC);
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::ofstream("/proc/self/oom_score_adj") << 1000;
  std::signal(SIGPIPE, SIG_IGN);
  return true;
}

CaseRecord of_trouble(const std::string& token, const Trouble& trouble) {
  return {token, verdict_of(trouble, "worker"), 0};
}

// A drawn case that fails a relation and is wrong by itself too goes by the reference's name for
// it, which knows the stage: so one bug has one bucket, not one for each relation that it breaks.
CaseRecord prefer_the_oracle(CaseRecord record, const Kernel& kernel, Case c, Device& device,
                             const VerifyOptions& options, const Ledger& ledger) {
  if (!is_failure(record.verdict.status) || c.property == kOracle) return record;
  c.property = kOracle;
  CaseRecord alone = run_case(kernel, c, device, options, ledger);
  if (!is_failure(alone.verdict.status)) return record;
  alone.planned = record.planned_token();
  alone.total_ms += record.total_ms;
  return alone;
}

// What runs the cases that a worker is told.
struct Stage {
  Device& device;
  VerifyOptions options;
  std::string control_objects;
  const Ledger& ledger;
  const BuiltMutant* mutant;  // null: there is none

  std::unique_ptr<Kernel> kernel(const std::string& name) const {
    return mutant == nullptr ? find_kernel(name)->fresh() : mutant->make_kernel(name);
  }
};

CaseRecord run_control(const Case& c, const Stage& stage) {
  VerifyOptions options = stage.options;
  options.code_objects = stage.control_objects;
  return run_case(*find_kernel(c.kernel), c, stage.device, options, {});
}

CaseRecord judge(const Json& told, const Stage& stage) {
  const bool is_control = told.contains("control");
  const std::string token = told.at(is_control ? "control" : "run").get<std::string>();
  const auto c = known_case(token);
  if (!c.ok()) return of_trouble(token, c.trouble());
  if (before_case) before_case(token);
  try {
    if (is_control) return run_control(*c, stage);
    const auto kernel = stage.kernel(c->kernel);
    if (kernel == nullptr) return of_trouble(token, unknown_kernel(c->kernel));
    CaseRecord record = run_case(*kernel, *c, stage.device, stage.options, stage.ledger);
    if (!told.value("drawn", false)) return record;
    return prefer_the_oracle(std::move(record), *kernel, *c, stage.device, stage.options,
                             stage.ledger);
  } catch (const std::bad_alloc&) {
    return of_trouble(token, {TroubleKind::kInfra, "out of memory on the host"});
  }
}

// Behind a fault or a hang a GPU refuses everything to the process; also where it was another
// device's of the process: the reference's, another thread's.
bool is_lost(Device& device) {
  if (gpu_driver::has_lost_a_gpu()) return true;
  return !device.is_emulated() && !device.synchronize().ok();
}

std::string one_line(const Json& json) {
  std::string line = to_line(json);
  line.pop_back();
  return line;
}

// Null where none is wanted.
Result<std::unique_ptr<BuiltMutant>> mutant_of(const CommonOptions& common,
                                               const WorkerRequest& request) {
  if (request.launcher.empty()) return std::unique_ptr<BuiltMutant>();
  auto mutant = open_mutant(common.code_objects, request.launcher);
  if (!mutant.ok()) return mutant.trouble();
  return std::make_unique<BuiltMutant>(std::move(*mutant));
}

DeviceOptions device_options(const CommonOptions& common, const WorkerRequest& request) {
  // Less than any case has: that a launch hangs is then the device's word, not a guess of the
  // parent, who would try it again.
  constexpr double kLaunchSeconds = 30;
  DeviceOptions options{
      .threads = common.threads, .checks = common.checks, .guard_page = common.guard_page};
  options.launch_limit_s = kLaunchSeconds;
  if (request.drawn) {
    options.instruction_budget = kInstructionBudget;
    options.launch_limit_s = kDrawnLaunchSeconds;
  }
  return options;
}

// What a worker says to a case: by the number that its parent gave it, where it gave one.
std::string answer_to(const Json& told, const Stage& stage) {
  Json answer = to_json(judge(told, stage));
  if (is_lost(stage.device)) answer["leaves"] = true;
  if (told.contains("id")) answer["id"] = told.at("id");
  return one_line(answer);
}

// Threads with a device each, which take the cases in the order in which they come.
class Crew {
 public:
  Crew(LineSocket& parent, const std::vector<Stage>& stages) : parent_(parent) {
    for (const Stage& stage : stages) threads_.emplace_back([this, &stage] { work(stage); });
  }
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void take(Json told) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(told));
    changed_.notify_one();
  }

 private:
  void work(const Stage& stage) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return is_over_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      const Json told = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      const std::string answer = answer_to(told, stage);
      lock.lock();
      parent_.send(answer);  // nobody listens: the next receive() says so
    }
  }

  LineSocket& parent_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Json> waiting_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

int say_trouble(LineSocket& parent, const Trouble& trouble) {
  parent.send(
      one_line({{"trouble", trouble.text}, {"usage", trouble.kind == TroubleKind::kUsage}}));
  return report_trouble(trouble);
}

}  // namespace

int command_worker(const CommonOptions& common, const WorkerRequest& request) {
  if (!has_socket()) {
    return report_trouble(
        {TroubleKind::kUsage,
         "worker is what other commands of attest start; alone it has nothing to do"});
  }
  if (!become_worker(request.parent)) return 4;
  LineSocket socket(kWorkerSocket);
  const auto ledger = Ledger::open(common.ledger);
  if (!ledger.ok()) return say_trouble(socket, ledger.trouble());
  const auto mutant = mutant_of(common, request);
  if (!mutant.ok()) return say_trouble(socket, mutant.trouble());
  VerifyOptions options{common.code_objects, common.threads, {}, !request.drawn, common.ariths};
  options.schedules = common.schedules;
  const std::string& control = request.control_objects;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<Stage> stages;
  for (int i = 0; i < std::max(1, request.crew); ++i) {
    auto device = open_device(common.device, device_options(common, request));
    if (!device.ok()) return say_trouble(socket, device.trouble());
    devices.push_back(std::move(*device));
    if (!request.drawn) options.reference_device = reference_device(common);  // one a thread
    stages.push_back({*devices.back(), options, control.empty() ? ATTEST_CODE_OBJECT_DIR : control,
                      *ledger, mutant->get()});
  }
  socket.send(one_line({{"ready", devices.front()->target()}}));
  std::optional<Crew> crew;
  if (request.crew > 1) crew.emplace(socket, stages);
  while (socket.receive(true)) {
    while (const auto line = socket.next_line()) {
      const Json told = Json::parse(*line);
      if (crew) {
        crew->take(told);
      } else if (!socket.send(answer_to(told, stages.front()))) {
        return 4;
      }
    }
  }
  return 0;
}

std::vector<std::string> worker_arguments(const CommonOptions& common, int threads) {
  std::vector<std::string> arguments = {
      "worker",         "--device",          common.device, "--threads",  std::to_string(threads),
      "--code-objects", common.code_objects, "--ledger",    common.ledger};
  const auto add = [&](const std::string& option, const std::string& value) {
    arguments.insert(arguments.end(), {option, value});
  };
  if (!common.code_object.empty()) add("--code-object", common.code_object);
  if (common.guard_page != GuardPage::kNone) {
    add("--guard-page", std::string(to_string(common.guard_page)));
  }
  add("--reference", common.reference);
  if (common.checks.any()) arguments.push_back("--check=" + to_string(common.checks));
  std::vector<std::string_view> ariths;
  for (const Arith arith : common.ariths) ariths.push_back(to_string(arith));
  add("--arith", fmt::format("{}", fmt::join(ariths, ",")));
  if (common.schedules > 0) add("--schedules", std::to_string(common.schedules));
  return arguments;
}

std::int64_t share_of_memory(int workers) {
  const std::int64_t available = available_memory_bytes();
  return available <= 0 ? 0 : available / workers / 10 * 9;
}

}  // namespace attest

#include "harness/worker.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <new>
#include <utility>

#include "harness/device/device_list.hpp"
#include "harness/ledger.hpp"
#include "harness/line_socket.hpp"
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
CaseRecord prefer_the_oracle(CaseRecord record, Case c, Device& device,
                             const VerifyOptions& options, const Ledger& ledger) {
  if (!is_failure(record.verdict.status) || c.property == kOracle) return record;
  c.property = kOracle;
  CaseRecord alone = run_case(c, device, options, ledger);
  if (!is_failure(alone.verdict.status)) return record;
  alone.planned = record.planned_token();
  alone.total_ms += record.total_ms;
  return alone;
}

CaseRecord judge(const Json& told, Device& device, VerifyOptions options, const Ledger& ledger) {
  const bool is_control = told.contains("control");
  const std::string token = told.at(is_control ? "control" : "run").get<std::string>();
  const auto c = known_case(token);
  if (!c.ok()) return of_trouble(token, c.trouble());
  if (is_control) options.code_objects = ATTEST_CODE_OBJECT_DIR;
  if (before_case) before_case(token);
  try {
    if (is_control) return run_case(*c, device, options, {});
    CaseRecord record = run_case(*c, device, options, ledger);
    const bool is_drawn = told.value("drawn", false);
    return is_drawn ? prefer_the_oracle(std::move(record), *c, device, options, ledger) : record;
  } catch (const std::bad_alloc&) {
    return of_trouble(token, {TroubleKind::kInfra, "out of memory on the host"});
  }
}

std::string one_line(const Json& json) {
  std::string line = to_line(json);
  line.pop_back();
  return line;
}

int say_trouble(LineSocket& parent, const Trouble& trouble) {
  parent.send(
      one_line({{"trouble", trouble.text}, {"usage", trouble.kind == TroubleKind::kUsage}}));
  return report_trouble(trouble);
}

}  // namespace

int command_worker(const CommonOptions& common, int parent) {
  if (!has_socket()) {
    return report_trouble({TroubleKind::kUsage,
                           "worker is what `attest nightly` starts; alone it has nothing to do"});
  }
  if (!become_worker(parent)) return 4;
  LineSocket socket(kWorkerSocket);
  const auto ledger = Ledger::open(common.ledger);
  if (!ledger.ok()) return say_trouble(socket, ledger.trouble());
  const auto device =
      open_device(common.device, {.threads = common.threads, .checks = common.checks});
  if (!device.ok()) return say_trouble(socket, device.trouble());
  VerifyOptions options{common.code_objects, common.threads, {}, true, common.ariths};
  options.schedules = common.schedules;
  socket.send(one_line({{"ready", (*device)->target()}}));
  while (socket.receive(true)) {
    while (const auto line = socket.next_line()) {
      const CaseRecord record = judge(Json::parse(*line), **device, options, *ledger);
      if (!socket.send(one_line(to_json(record)))) return 4;
    }
  }
  return 0;
}

}  // namespace attest

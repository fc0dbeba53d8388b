// worker: a child of this program, hidden command `attest worker`. It judges the cases that it is
// told, one after another, until nobody tells it any more. Whatever ends it costs one case; with a
// crew (shared_worker.hpp), those that it runs beside each other, which are run again alone.
//
// What both say, a line of JSON each:
//   parent   {"run": TOKEN, "drawn": BOOL}, of a case that fuzz drew; {"control": TOKEN}, of code
//            objects that are known to be good
//   worker   {"ready": TARGET} or {"trouble": TEXT, "usage": BOOL} before the first; then, for each
//            that it was told, a case record (reports/run/verdict_json.hpp), with "leaves": true
//            where its device is of no use any more: another worker must run what comes next.
//            An "id" that the parent told is told back
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "harness/common_options.hpp"

namespace attest {

inline constexpr int kWorkerSocket = 3;  // file descriptor

// Called before each case. For tests, whose program sets it: faults cannot be injected otherwise.
extern std::function<void(const std::string& token)> before_case;

struct WorkerRequest {
  int parent = 0;               // the process that started it, which it does not outlive
  bool drawn = false;           // its cases are drawn: shorter limits, no second oracle
  std::string launcher;         // of a mutant (mutant_build.hpp); empty: this program's own kernels
  std::string control_objects;  // folder, of the control case; empty: this program's own
  int crew = 1;                 // cases beside each other, each with a device of its own
};
int command_worker(const CommonOptions& common, const WorkerRequest& request);

// With what a worker is started that runs cases under these options.
std::vector<std::string> worker_arguments(const CommonOptions& common, int threads);
// Each worker's share of the free memory, less a tenth: what the parent and others need. 0: it is
// not known.
std::int64_t share_of_memory(int workers);

}  // namespace attest

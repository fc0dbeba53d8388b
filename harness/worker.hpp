// worker: the child of a nightly, hidden command `attest worker`. It judges the cases that it is
// told, one after another, until nobody tells it any more. Whatever ends it costs one case.
//
// What both say, a line of JSON each:
//   nightly  {"run": TOKEN, "drawn": BOOL}, of a case that fuzz drew; {"control": TOKEN}, of the
//            code objects that came with this program
//   worker   {"ready": TARGET} or {"trouble": TEXT, "usage": BOOL} before the first; then, for each
//            that it was told, a case record (reports/run/verdict_json.hpp)
#pragma once
#include <functional>
#include <string>

#include "harness/commands.hpp"

namespace attest {

inline constexpr int kWorkerSocket = 3;  // file descriptor

// Called before each case. For tests, whose program sets it: faults cannot be injected otherwise.
extern std::function<void(const std::string& token)> before_case;

// `parent`: the process that started it; it does not outlive it.
int command_worker(const CommonOptions& common, int parent);

}  // namespace attest

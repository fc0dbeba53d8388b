// What most commands take.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/arith.hpp"
#include "harness/core/check_report.hpp"
#include "harness/core/device.hpp"
#include "reports/console.hpp"

namespace attest {

constexpr std::string_view to_string(GuardPage page) {
  return page == GuardPage::kAfter ? "after" : page == GuardPage::kBefore ? "before" : "none";
}

struct CommonOptions {
  std::string device = "emu:gfx942";
  std::string code_objects;  // folder
  std::string code_object;   // the user's own: a file or a folder (kernels/external)
  int threads = 0;           // of the host
  // Where references are formed: auto (of large cases on a GPU, of commands that run given cases),
  // cpu, device (all, and on an emulator too; of the same commands: check_reference()).
  std::string reference = "auto";
  bool json = false;                          // machine-readable stdout
  ConsoleOptions console = {};                // of what is printed for people
  std::string ledger = "none";                // file of known failures (ledger.hpp)
  std::vector<Arith> ariths = {Arith::kFma};  // of an emulator; each in turn
  CheckSet checks;    // of the execution; a device without an emulator has none
  int schedules = 0;  // beside a case's own
  GuardPage guard_page = GuardPage::kNone;  // of a GPU
  bool in_process = false;  // on a GPU: kernels are launched by this process, not by a worker
};

}  // namespace attest

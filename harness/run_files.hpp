// The files that a run is asked for beside what it prints. Its JSON Lines grow as it goes; what is
// made of them is written when it is over.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "harness/commands.hpp"
#include "harness/core/trouble.hpp"
#include "harness/out_file.hpp"
#include "reports/reporter.hpp"

namespace attest {

class RunReports {
 public:
  // Trouble, before anything runs: kUsage: "-"; kInfra: a file that cannot be written.
  static Result<RunReports> open(const RunFiles& files);

  // Those that it needs; for as long as it lives.
  void add_reporters(std::vector<std::unique_ptr<Reporter>>& reporters);
  // After the run has ended. Trouble kInfra: with the path.
  Outcome write();

 private:
  struct Memory {
    char* text = nullptr;
    std::size_t size = 0;
    std::unique_ptr<std::FILE, FileCloser> file;
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() {
      file.reset();
      std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
    }
  };

  RunFiles made_;  // when it is over
  std::unique_ptr<std::FILE, FileCloser> journal_;
  std::unique_ptr<Memory> memory_;
};

}  // namespace attest

// WorkerEnd: how a case ended in a worker process; and what it means when a process ended instead
// of answering. A crash or a hang is evidence about the kernel only if it comes again in a fresh
// process in which a control case has passed; else it is the machine's.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "reports/reporter.hpp"

namespace attest {

struct WorkerEnd {
  enum class Kind {
    kAnswered,
    kCrashed,      // by a signal of its own, or an exit nobody asked for
    kHung,         // no answer in time; it was killed
    kOutOfMemory,  // it took more than it may, or the machine had no more; it was killed
    kKilled,       // by a signal that comes from elsewhere: SIGKILL, SIGTERM, SIGINT, SIGHUP
  };
  Kind kind = Kind::kAnswered;
  std::string words;       // "ended by SIGSEGV (Segmentation fault)"
  std::string name;        // of a crash, as a word of a bucket: "sigsegv", "exit7"
  std::string last_words;  // what it printed last
  CaseRecord record;       // of an answer
};

WorkerEnd answered(CaseRecord record);
WorkerEnd hung(double limit_s);
WorkerEnd out_of_memory(std::int64_t limit_bytes);
WorkerEnd no_answer();  // it sent what is none
// Of a process that nobody here killed. `status` is waitpid's; `memory_ran_out`: of the machine,
// meanwhile.
WorkerEnd exited(int status, bool memory_ran_out, const std::string& last_words);

struct Decision {
  CaseRecord record;
  bool blames_machine = false;  // nothing runs there any more
};

// A case whose first process ended without an answer. Then a control case ran in a fresh process;
// where it passed, the case ran there again (`second`).
Decision decide(const std::string& token, const WorkerEnd& first, const WorkerEnd& control,
                const std::optional<WorkerEnd>& second);

bool has_passed(const WorkerEnd& end);

}  // namespace attest

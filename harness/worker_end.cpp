#include "harness/worker_end.hpp"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>

#include "harness/bucket.hpp"
#include "reports/run/results.hpp"

namespace attest {
namespace {

using Kind = WorkerEnd::Kind;

WorkerEnd end_of(Kind kind, std::string words) {
  WorkerEnd end;
  end.kind = kind;
  end.words = std::move(words);
  return end;
}

WorkerEnd crashed(std::string name, std::string words) {
  WorkerEnd end = end_of(Kind::kCrashed, std::move(words));
  end.name = std::move(name);
  return end;
}

WorkerEnd ended_by_signal(int signal, bool memory_ran_out, const std::string& last_words) {
  if (signal == SIGKILL && memory_ran_out) {
    return end_of(Kind::kOutOfMemory, "was killed when the machine had no memory left");
  }
  if (signal == SIGABRT && last_words.find("bad_alloc") != std::string::npos) {
    return end_of(Kind::kOutOfMemory, "ended when it got no more memory (std::bad_alloc)");
  }
  const char* const abbreviation = sigabbrev_np(signal);
  std::string name = abbreviation != nullptr ? fmt::format("sig{}", abbreviation)
                                             : fmt::format("signal{}", signal);
  std::string capitals = name;
  const auto change = [](std::string& text, int (*to)(int)) {
    std::transform(text.begin(), text.end(), text.begin(),
                   [to](unsigned char c) { return static_cast<char>(to(c)); });
  };
  change(name, std::tolower);
  change(capitals, std::toupper);
  if (signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGHUP) {
    return end_of(Kind::kKilled, fmt::format("was killed from outside ({})", capitals));
  }
  return crashed(std::move(name), fmt::format("ended by {} ({})", capitals, strsignal(signal)));
}

std::string quoted_last_words(const WorkerEnd& end) {
  return end.last_words.empty() ? "" : "\nits last words: " + end.last_words;
}

CaseRecord machine_record(const std::string& token, std::string reason) {
  CaseRecord record{token, {}, 0};
  record.verdict.status = Status::kInfra;
  record.verdict.reason = std::move(reason);
  return record;
}

bool is_of_the_kernel(const WorkerEnd& end) {
  return end.kind == Kind::kCrashed || end.kind == Kind::kHung;
}

// The process ended twice.
CaseRecord twice(const std::string& token, const std::string& kernel, const WorkerEnd& first,
                 const WorkerEnd& second) {
  if (first.kind == Kind::kOutOfMemory && second.kind == Kind::kOutOfMemory) {
    return machine_record(token, fmt::format("{}: its process {}, twice; with a smaller --jobs "
                                             "there is more memory for each",
                                             kernel, second.words));
  }
  const std::string both =
      first.words == second.words
          ? fmt::format("its process {}, and so again in a fresh one", second.words)
          : fmt::format("its process {}; a fresh one {}", first.words, second.words);
  if (!is_of_the_kernel(first) || !is_of_the_kernel(second)) {
    return machine_record(token, fmt::format("{}: {}{}", kernel, both, quoted_last_words(second)));
  }
  const bool is_hang = second.kind == Kind::kHung;
  CaseRecord record{token, {}, 0};
  record.verdict.status = is_hang ? Status::kHung : Status::kCrashed;
  record.verdict.reason = fmt::format("{}: {}, where a control case had passed{}", kernel, both,
                                      quoted_last_words(second));
  record.verdict.bucket = to_string(
      Bucket{"process", is_hang ? "hang" : "crash", is_hang ? "all" : second.name, kernel});
  return record;
}

// The process ended once, and the fresh one answered.
CaseRecord once(const std::string& kernel, const WorkerEnd& first, CaseRecord record) {
  Verdict& verdict = record.verdict;
  if (!is_of_the_kernel(first)) {  // this says nothing about the case, and the answer is whole
    verdict.remarks.push_back(
        fmt::format("its first process {}; this is of a fresh one", first.words));
  } else if (is_failure(verdict.status)) {  // which no trouble hides
    verdict.reason +=
        fmt::format("; before, its first process {}{}", first.words, quoted_last_words(first));
  } else {
    std::string reason = fmt::format(
        "{}: its process {} once, then the case ended '{}' in a fresh "
        "one{}{}{}",
        kernel, first.words, to_string(verdict.status), verdict.reason.empty() ? "" : ": ",
        verdict.reason, quoted_last_words(first));
    verdict.status = Status::kInfra;
    verdict.reason = std::move(reason);
  }
  return record;
}

}  // namespace

WorkerEnd answered(CaseRecord record) {
  WorkerEnd end =
      end_of(Kind::kAnswered,
             fmt::format("ended '{}'{}{}", to_string(record.verdict.status),
                         record.verdict.reason.empty() ? "" : ": ", record.verdict.reason));
  end.record = std::move(record);
  return end;
}

WorkerEnd hung(double limit_s) {
  return end_of(Kind::kHung, fmt::format("gave no answer within {:.3g} s", limit_s));
}

WorkerEnd out_of_memory(std::int64_t limit_bytes) {
  constexpr double kGiB = 1 << 30;
  return end_of(Kind::kOutOfMemory,
                fmt::format("needs more than {:.3g} GiB", static_cast<double>(limit_bytes) / kGiB));
}

WorkerEnd no_answer() { return crashed("no-answer", "sent what is no answer"); }

WorkerEnd exited(int status, bool memory_ran_out, const std::string& last_words) {
  WorkerEnd end;
  if (WIFSIGNALED(status)) {
    end = ended_by_signal(WTERMSIG(status), memory_ran_out, last_words);
  } else {
    const int code = WEXITSTATUS(status);
    end = crashed(fmt::format("exit{}", code), fmt::format("exited with code {}", code));
  }
  end.last_words = last_words;
  return end;
}

bool has_passed(const WorkerEnd& end) {
  return end.kind == Kind::kAnswered && end.record.verdict.status == Status::kPassed;
}

Decision decide(const std::string& token, const WorkerEnd& first, const WorkerEnd& control,
                const std::optional<WorkerEnd>& second) {
  Decision decision;
  CaseRecord& record = decision.record;
  const std::string kernel = facts_of({token, {}, 0}).kernel;
  if (!has_passed(control) || !second) {
    record = machine_record(
        token, fmt::format("{}: its process {}; in a fresh one the control case, which is known to "
                           "be good, {}: it is the machine or the device{}",
                           kernel, first.words, control.words, quoted_last_words(first)));
    decision.blames_machine = true;
  } else if (second->kind == Kind::kAnswered) {
    record = once(kernel, first, second->record);
  } else {
    record = twice(token, kernel, first, *second);
  }
  record.tries = 2;
  return decision;
}

}  // namespace attest

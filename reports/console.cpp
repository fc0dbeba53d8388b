#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "reports/format.hpp"

namespace attest {
namespace {

// Verdicts go to `to`, progress to stderr, so that a pipe sees verdicts alone.
class Console : public Reporter {
 public:
  // `shows_progress`: on stderr.
  Console(std::FILE* to, bool shows_progress)
      : to_(to),
        shows_progress_(shows_progress),
        terminal_(shows_progress && isatty(fileno(stderr)) == 1) {}

  void run_begin(const RunHeader& header) override {
    cases_ = header.cases;
    repro_options_ = header.repro_options;
    again_ = header.again;
    if (!shows_progress_) return;
    fmt::print(stderr, "{} cases on {}, {}\n", header.cases, header.device, header.machine);
  }

  void case_begin(std::int64_t index, const std::string& token) override {
    if (!shows_progress_) return;
    fmt::print(stderr, "{}[{}/{}] {}{}", terminal_ ? "\r\033[K" : "", index + 1, cases_,
               terminal_ ? token.substr(0, 100) : token, terminal_ ? "" : "\n");
    std::fflush(stderr);
  }

  void case_end(const CaseRecord& record) override {
    if (terminal_) fmt::print(stderr, "\r\033[K");
    std::fflush(stderr);
    const Verdict& verdict = record.verdict;
    checked_ += verdict.checked;
    fmt::print(to_, "{:<8} {}  {}{}{}{:.0f} ms\n", to_string(verdict.status), record.token,
               worst_text(verdict), seen_text(verdict.evidence), schedules_text(verdict),
               record.total_ms);
    if (verdict.status != Status::kPassed) {
      fmt::print(to_, "         {}\n", indented(verdict.reason));
      if (!verdict.blame.empty()) fmt::print(to_, "         blame {}\n", verdict.blame);
      if (!verdict.bucket.empty()) fmt::print(to_, "         bucket {}\n", verdict.bucket);
      fmt::print(to_, "         see it again: {}\n",
                 again_.empty() ? fmt::format("./attest repro '{}'{}", record.token, repro_options_)
                                : again_);
    }
    flush();
  }

  void run_end(const Tally& tally, double seconds) override {
    fmt::print(to_, "{} of {} cases: {}; {} elements judged in {:.1f} s\n", tally.total(), cases_,
               tally_text(tally), checked_, seconds);
    flush();
  }

  std::string trouble() const override { return trouble_; }

 private:
  static std::string worst_text(const Verdict& verdict) {
    const auto worst =
        std::max_element(verdict.worst.begin(), verdict.worst.end(),
                         [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
    if (worst == verdict.worst.end()) return {};
    return fmt::format("ratio {:.3g} in {}  ", worst->ratio, worst->tensor);
  }
  // Its further lines below the first.
  static std::string indented(std::string text) {
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos;) {
      text.insert(++at, 9, ' ');
    }
    return text;
  }
  // Only what has something to lose; rounded down, so that 100 % is all.
  static std::string seen_text(const Evidence& e) {
    std::string text;
    for (const auto& [name, share] :
         {std::pair{"tokens", e.tokens_visible}, {"splits", e.splits_visible}}) {
      if (share >= 0) text += fmt::format(" {:.0f} % {}", std::floor(100 * share), name);
    }
    return text.empty() ? text : "sees" + text + "  ";
  }
  static std::string schedules_text(const Verdict& verdict) {
    return verdict.schedules == 1 ? "" : fmt::format("{} schedules  ", verdict.schedules);
  }
  void flush() {
    if (std::fflush(to_) != 0 && trouble_.empty()) trouble_ = std::strerror(errno);
  }

  std::FILE* to_;
  bool shows_progress_, terminal_;
  std::string again_;
  std::int64_t cases_ = 0, checked_ = 0;
  std::string repro_options_, trouble_;
};

}  // namespace

std::unique_ptr<Reporter> make_console_reporter(std::FILE* to) {
  return std::make_unique<Console>(to, true);
}

std::string render_console(const Results& results, const Trend& /*trend*/) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const to = open_memstream(&text, &size);
  {
    Console console(to, false);
    RunHeader header = results.header();
    header.cases = results.tally.total() + static_cast<std::int64_t>(results.missing.size());
    console.run_begin(header);
    for (const CaseRecord& record : results.cases) console.case_end(record);
    console.run_end(results.tally, results.seconds);
  }
  std::fclose(to);
  std::string made(text, size);
  std::free(text);  // NOLINT(cppcoreguidelines-no-malloc): open_memstream's
  return made;
}

}  // namespace attest

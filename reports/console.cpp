#include "reports/console.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "reports/format.hpp"
#include "reports/run/phases.hpp"
#include "reports/run/progress.hpp"
#include "reports/run/say.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

struct Bucket {
  std::int64_t cases = 0;
  std::string example;  // its shortest token
};

// `has_progress`: on stderr.
class Console : public Reporter {
 public:
  Console(std::FILE* to, const ConsoleOptions& options, bool has_progress)
      : to_(to), verbose_(options.verbose), coloured_(has_colour(options.colour, to)) {
    if (has_progress) progress_.emplace(stderr_screen());
  }

  void run_begin(const RunHeader& header) override {
    const std::lock_guard lock(printing_);
    cases_ = header.cases;
    run_.runs = {header};
    if (!progress_) return;
    progress_->begin(header.cases);
    say("{} case{} on {}, {}{}\n", header.cases, header.cases == 1 ? "" : "s", header.device,
        header.machine, lists_all() ? "" : "; those that pass are counted, -v lists them");
    try {
      ticker_ = std::jthread([this](const std::stop_token& stop) { tick(stop); });
    } catch (const std::system_error&) {  // no memory for its stack: the line moves with the cases
    }
  }

  void plan(std::span<const PlannedCase> cases) override {
    const std::lock_guard lock(printing_);
    if (progress_) progress_->plan(cases);
  }

  void case_begin(std::int64_t /*index*/, const std::string& token) override {
    const std::lock_guard lock(printing_);
    if (progress_) progress_->case_begin(token);
  }

  void case_end(const CaseRecord& record) override {
    const std::lock_guard lock(printing_);
    if (progress_) progress_->case_end(record);
    const Verdict& verdict = record.verdict;
    checked_ += verdict.checked;
    if (!verdict.remarks.empty()) ++with_remarks_;
    const bool is_known = note_bucket(record);
    if (!is_listed(record)) return;
    if (progress_) progress_->clear();
    if (is_known && !lists_all()) {
      print("{} {}  again {}\n", status_word(verdict.status, coloured_), visible(record.token),
            visible(verdict.bucket));
    } else {
      print_case(record);
    }
    flush();
  }

  void run_end(const Tally& tally, double seconds) override {
    ticker_ = {};
    if (progress_) progress_->clear();
    const std::string of_all = tally.total() > cases_ ? "" : fmt::format(" of {}", cases_);
    print("{}{} cases: {}; {} elements judged in {:.1f} s\n", tally.total(), of_all,
          tally_text(tally), checked_, seconds);
    if (with_remarks_ > 0 && !verbose_) {
      print("remarks on {} case{}, of what no result can show: -v lists them\n", with_remarks_,
            with_remarks_ == 1 ? "" : "s");
    }
    if (cases_ > 1) print_buckets();
    flush();
  }

  std::string trouble() const override { return trouble_; }

 private:
  // Once a second: a case that hangs is seen to hang.
  void tick(const std::stop_token& stop) {
    std::unique_lock lock(printing_);
    while (!wake_.wait_for(lock, stop, std::chrono::seconds(1), [&] { return false; })) {
      if (stop.stop_requested()) return;
      progress_->tick();
    }
  }

  bool lists_all() const { return verbose_ || cases_ <= kMostListed; }

  bool is_listed(const CaseRecord& record) const {
    const Status status = record.verdict.status;
    const bool says_little =
        status == Status::kPassed || status == Status::kSkipped || status == Status::kXfail;
    const bool is_one_of_many = !lists_all() || (record.phase == kDrawnPhase && !verbose_);
    return !says_little || !is_one_of_many;
  }

  // Whether it was known already.
  bool note_bucket(const CaseRecord& record) {
    const Verdict& verdict = record.verdict;
    if (verdict.status == Status::kPassed || verdict.status == Status::kXfail) return false;
    if (verdict.bucket.empty()) return false;
    Bucket& bucket = buckets_[verdict.bucket];
    if (bucket.cases == 0 || record.token.size() < bucket.example.size()) {
      bucket.example = record.token;
    }
    return ++bucket.cases > 1;
  }

  void print_case(const CaseRecord& record) {
    const Verdict& verdict = record.verdict;
    print("{} {}  {}{}{}{:.0f} ms\n", status_word(verdict.status, coloured_), visible(record.token),
          worst_text(verdict), seen_text(verdict.evidence), schedules_text(verdict),
          record.total_ms);
    if (verbose_) {
      for (const std::string& remark : verdict.remarks) {
        print("         remark {}\n", visible(remark.substr(0, remark.find('\n'))));
      }
    }
    if (verdict.status == Status::kPassed) return;
    print("         {}\n", indented(visible(verdict.reason)));
    if (!verdict.blame.empty()) print("         blame {}\n", visible(verdict.blame));
    if (!verdict.bucket.empty()) {
      print("         bucket {}\n", visible(verdict.bucket));
    }
    print("         see it again: {}\n", again(record.token));
  }

  void print_buckets() {
    if (buckets_.empty()) return;
    std::vector<std::pair<std::string, Bucket>> most_first(buckets_.begin(), buckets_.end());
    std::stable_sort(most_first.begin(), most_first.end(),
                     [](const auto& a, const auto& b) { return a.second.cases > b.second.cases; });
    print("buckets {}\n", most_first.size());
    for (std::size_t i = 0; i < std::min(most_first.size(), kBucketsShown); ++i) {
      const auto& [name, bucket] = most_first[i];
      print("  {}  {} case{}\n    {}\n", visible(name), bucket.cases, bucket.cases == 1 ? "" : "s",
            again(bucket.example));
    }
    if (most_first.size() > kBucketsShown) {
      print("  and {} more\n", most_first.size() - kBucketsShown);
    }
  }

  std::string again(const std::string& token) const {
    CaseRecord record;
    record.token = token;
    return visible(again_text(run_, record));
  }

  static std::string worst_text(const Verdict& verdict) {
    const auto worst =
        std::max_element(verdict.worst.begin(), verdict.worst.end(),
                         [](const Worst& a, const Worst& b) { return a.ratio < b.ratio; });
    if (worst == verdict.worst.end()) return {};
    return fmt::format("ratio {:.3g} in {}  ", worst->ratio, visible(worst->tensor));
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
  template <class... T>
  void print(fmt::format_string<T...> format, T&&... values) {
    note(say_to(to_, format, std::forward<T>(values)...));
  }
  void flush() { note(std::fflush(to_) == 0); }
  void note(bool written) {
    if (!written && trouble_.empty()) trouble_ = std::strerror(errno);
  }

  static constexpr std::size_t kBucketsShown = 20;
  std::FILE* to_;
  bool verbose_, coloured_;
  std::optional<Progress> progress_;
  Results run_;  // its header alone
  std::int64_t cases_ = 0, checked_ = 0, with_remarks_ = 0;
  std::map<std::string, Bucket> buckets_;
  std::string trouble_;
  std::mutex printing_;
  std::condition_variable_any wake_;
  std::jthread ticker_;  // last: it ends before what it uses
};

}  // namespace

std::unique_ptr<Reporter> make_console_reporter(std::FILE* to) {
  return make_console_reporter(to, {});
}

std::unique_ptr<Reporter> make_console_reporter(std::FILE* to, const ConsoleOptions& options) {
  return std::make_unique<Console>(to, options, true);
}

std::string render_console(const Results& results, const Trend& /*trend*/) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* const to = open_memstream(&text, &size);
  {
    Console console(to, {.colour = Colour::kNever, .verbose = true}, false);
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

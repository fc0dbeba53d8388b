#include "reports/run/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace attest {
namespace {

constexpr double kLongSeconds = 5;

// "[=====>    ]": of so many cells within.
std::string bar(double share, int cells) {
  const int full = static_cast<int>(std::floor(share * cells));
  std::string text(static_cast<std::size_t>(full), '=');
  if (full < cells) text += '>';
  text.resize(static_cast<std::size_t>(cells), ' ');
  return "[" + text + "] ";
}

}  // namespace

std::string clock_text(double seconds) {
  // A thousandth, so that a division that is off by its last bit is no second more.
  const auto all = static_cast<std::int64_t>(std::ceil(std::max(seconds - 1e-3, 0.0)));
  if (all < 3600) return fmt::format("{}:{:02}", all / 60, all % 60);
  return fmt::format("{}:{:02}:{:02}", all / 3600, all / 60 % 60, all % 60);
}

std::string rate_text(double count, double seconds) {
  if (count >= seconds) return fmt::format("{:.1f}/s", count / std::max(seconds, 1e-3));
  return fmt::format("{:.1f} s each", seconds / count);
}

void Progress::plan(std::span<const PlannedCase> cases) {
  cases_ = static_cast<std::int64_t>(cases.size());
  for (const PlannedCase& one : cases) {
    if (cost_ms_.emplace(one.token, one.cost_ms).second) planned_ms_ += one.cost_ms;
  }
}

void Progress::case_begin(const std::string& token) {
  running_.push_back({token, line_.seconds()});
  tick();
}

void Progress::tick() {
  line_.show([this](int columns) { return text(columns); });
}

void Progress::case_end(const CaseRecord& record) {
  ++done_;
  const std::string& token = record.planned_token();
  if (const auto at = cost_ms_.find(token); at != cost_ms_.end()) {
    done_ms_ += at->second;
    cost_ms_.erase(at);
  }
  const auto at = std::find_if(running_.begin(), running_.end(),
                               [&](const Running& one) { return one.token == token; });
  if (at != running_.end()) running_.erase(at);
  const Verdict& verdict = record.verdict;
  const bool is_news = verdict.status != Status::kPassed && verdict.status != Status::kXfail;
  if (is_news && !verdict.bucket.empty()) buckets_.insert(verdict.bucket);
}

double Progress::share() const {
  const double share = planned_ms_ > 0 ? done_ms_ / planned_ms_
                                       : static_cast<double>(done_) / static_cast<double>(cases_);
  return std::clamp(share, 0.0, 1.0);
}

std::string Progress::counts() const {
  const bool has_end = done_ <= cases_ && cases_ > 0;  // what is drawn beside a plan has none
  std::string text = has_end ? fmt::format("{}/{}", done_, cases_) : fmt::format("{} cases", done_);
  const double seconds = line_.seconds();
  if (done_ > 0 && seconds > 0) text += "  " + rate_text(static_cast<double>(done_), seconds);
  if (has_end && share() > 0 && seconds > 0) {
    text += "  ETA " + clock_text(seconds * (1 - share()) / share());
  }
  if (!buckets_.empty()) {
    text += fmt::format("  {} bucket{}", buckets_.size(), buckets_.size() == 1 ? "" : "s");
  }
  return text;
}

std::string Progress::text(int columns) const {
  std::string line = counts();
  if (columns >= 50 && cases_ > 0) line.insert(0, bar(share(), columns >= 80 ? 20 : 10));
  if (running_.empty()) return line;
  const auto& [token, since] = running_.front();
  const double runs_s = line_.seconds() - since;
  if (runs_s >= kLongSeconds) line += "  for " + clock_text(runs_s);
  return line + (runs_s >= kLongSeconds ? " " : "  ") + token;
}

}  // namespace attest

#include "harness/ledger.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>

namespace attest {
namespace {

using Kind = LedgerEntry::Kind;

bool matches(const std::string& glob, std::string_view text) {
  return fnmatch(glob.c_str(), std::string(text).c_str(), 0) == 0;
}

std::string text_of(Date date) {
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

bool is_about(const LedgerEntry& entry, const Case& c, std::string_view arch) {
  return matches(entry.kernel, c.kernel) && matches(entry.arch, arch);
}

bool keeps_from_running(const LedgerEntry& entry, const Case& c, std::string_view arch) {
  return entry.kind == Kind::kQuarantined && is_about(entry, c, arch) &&
         matches(entry.token, to_token(c));
}

// A tolerated entry's token, where it has no wildcard, is the case that shows the failure: others
// with the bucket are excused too. A glob says which are.
bool excuses(const LedgerEntry& entry, const Case& c, std::string_view arch,
             const std::string& bucket) {
  return entry.kind == Kind::kTolerated && is_about(entry, c, arch) && !bucket.empty() &&
         matches(entry.bucket, bucket) &&
         (!entry.token_is_glob() || matches(entry.token, to_token(c)));
}

bool is_bad(Status status) {
  switch (status) {
    case Status::kFailed:
    case Status::kCrashed:
    case Status::kHung:
    case Status::kFlaky:
    case Status::kSuspect:
      return true;
    default:
      return false;
  }
}

std::string excuse(const LedgerEntry& entry) {
  return fmt::format("{} ({} until {}{}{})", entry.issue, entry.place, text_of(entry.expires),
                     entry.why.empty() ? "" : ": ", entry.why);
}

}  // namespace

Date today() { return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now()); }

bool Ledger::is_expired(const LedgerEntry& entry) const { return today_ > entry.expires; }

std::vector<std::string> Ledger::warnings() const {
  std::vector<std::string> lines;
  for (const LedgerEntry& e : entries_) {
    if (!is_expired(e)) continue;
    lines.push_back(
        fmt::format("{}: expired on {}, so that {}; its issue is {}", e.place, text_of(e.expires),
                    e.kind == Kind::kQuarantined ? "what it kept from running runs again"
                                                 : "it excuses nothing any more",
                    e.issue));
  }
  return lines;
}

std::optional<Verdict> Ledger::before(const Case& c, std::string_view arch) const {
  for (const LedgerEntry& e : entries_) {
    if (!keeps_from_running(e, c, arch) || is_expired(e)) continue;
    Verdict verdict;
    verdict.status = Status::kSkipped;
    verdict.reason = "quarantined: " + excuse(e);
    return verdict;
  }
  return std::nullopt;
}

Verdict Ledger::passed(const Case& c, std::string_view arch, Verdict verdict) const {
  for (const LedgerEntry& e : entries_) {
    const bool is_its_own = e.kind == Kind::kTolerated && e.token == to_token(c);
    if (!is_its_own || is_expired(e) || !is_about(e, c, arch)) continue;
    verdict.status = Status::kXpass;
    verdict.reason = fmt::format(
        "{} says that this case fails with {}, but it passes: take the entry out; its issue is {}",
        e.place, e.bucket, e.issue);
    break;
  }
  return verdict;
}

Verdict Ledger::after(const Case& c, std::string_view arch, Verdict verdict) const {
  if (verdict.status == Status::kPassed) return passed(c, arch, std::move(verdict));
  if (!is_bad(verdict.status)) return verdict;
  const LedgerEntry* expired = nullptr;
  for (const LedgerEntry& e : entries_) {
    if (!excuses(e, c, arch, verdict.bucket) && !keeps_from_running(e, c, arch)) continue;
    if (is_expired(e)) {
      expired = &e;
    } else if (e.kind == Kind::kTolerated) {
      verdict.status = Status::kXfail;
      verdict.reason = fmt::format("known: {}; {}", excuse(e), verdict.reason);
      return verdict;
    }
  }
  if (expired != nullptr) {
    verdict.reason = fmt::format("{} excused it until {} ({}); {}", expired->place,
                                 text_of(expired->expires), expired->issue, verdict.reason);
  }
  return verdict;
}

Verdict verify_with_ledger(const Ledger& ledger, const Kernel& kernel, Device& device,
                           const Case& c, const VerifyOptions& options) {
  if (std::optional<Verdict> skipped = ledger.before(c, device.target())) return *skipped;
  return ledger.after(c, device.target(), verify(kernel, device, c, options));
}

}  // namespace attest

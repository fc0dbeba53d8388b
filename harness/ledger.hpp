// Ledger: failures that are known, by predicate, each with an issue and a date on which its excuse
// ends. The format is at the top of fuzz/ledger.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/verify.hpp"

namespace attest {

using Date = std::chrono::year_month_day;
Date today();  // UTC

struct LedgerEntry {
  enum class Kind {
    kTolerated,    // runs; a failure that matches is xfail
    kQuarantined,  // never launched
  };
  Kind kind = Kind::kTolerated;
  std::string bucket = "*", kernel = "*", arch = "*", token = "*";  // globs
  std::string issue, why;
  Date expires;       // the last day on which it excuses
  std::string place;  // "fuzz/ledger:12"
  bool token_is_glob() const { return token.find_first_of("*?[") != std::string::npos; }
};

class Ledger {
 public:
  Ledger() = default;  // excuses nothing
  // Trouble kUsage, with file and line.
  static Result<Ledger> read(const std::string& path, Date today);
  static Result<Ledger> open(const std::string& path);  // "none": empty; read today
  static Result<Ledger> parse(std::string_view text, const std::string& name, Date today);

  const std::vector<LedgerEntry>& entries() const { return entries_; }
  bool is_expired(const LedgerEntry& entry) const;
  std::vector<std::string> warnings() const;  // what has expired, a line each

  // The verdict of a case that must not be launched.
  std::optional<Verdict> before(const Case& c, std::string_view arch) const;
  // What a verdict is in the light of the ledger: xfail, xpass, or itself.
  Verdict after(const Case& c, std::string_view arch, Verdict verdict) const;

 private:
  Verdict passed(const Case& c, std::string_view arch, Verdict verdict) const;
  std::vector<LedgerEntry> entries_;
  Date today_{};
};

Verdict verify_with_ledger(const Ledger& ledger, const Kernel& kernel, Device& device,
                           const Case& c, const VerifyOptions& options);

}  // namespace attest

// How fuzz/ledger is read.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include "harness/ledger.hpp"

namespace attest {
namespace {

using Kind = LedgerEntry::Kind;

constexpr std::string_view kKeys = "bucket, kernel, arch, token, issue, expires";

std::optional<Date> date_of(std::string_view text) {
  int year = 0;
  unsigned month = 0, day = 0;
  const auto number = [&](std::size_t at, std::size_t size, auto& value) {
    const char* const end = text.data() + at + size;
    return std::from_chars(text.data() + at, end, value).ptr == end;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  if (!number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day)) return std::nullopt;
  const Date date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  return date.ok() ? std::optional{date} : std::nullopt;
}

bool is_link(std::string_view text) {
  return text.starts_with("https://") && text.size() > std::string_view("https://").size();
}

// The exact token of a case becomes canonical, so that it is compared as text.
std::string take_token(std::string_view text, LedgerEntry& entry) {
  entry.token = text;
  if (entry.token_is_glob()) return {};
  const Result<Case> c = parse_token(text);
  if (!c.ok()) return c.trouble().text;
  entry.token = to_token(*c);
  return {};
}

// Empty when taken; else what is wrong.
std::string take(std::string_view key, std::string_view value, LedgerEntry& entry) {
  if (value.empty()) return fmt::format("{}= has no value", key);
  if (key == "token") return take_token(value, entry);
  if (key == "expires") {
    const std::optional<Date> date = date_of(value);
    if (!date) return fmt::format("expires={} is no date like 2027-03-31", value);
    entry.expires = *date;
    return {};
  }
  if (key == "issue" && !is_link(value)) return fmt::format("issue={} is no https:// link", value);
  for (const auto& [name, member] : {std::pair{"bucket", &LedgerEntry::bucket},
                                     {"kernel", &LedgerEntry::kernel},
                                     {"arch", &LedgerEntry::arch},
                                     {"issue", &LedgerEntry::issue}}) {
    if (key != name) continue;
    entry.*member = value;
    return {};
  }
  return fmt::format("unknown key '{}'; there are: {}", key, kKeys);
}

// What an entry lacks, or has too much of.
std::string why_incomplete(const LedgerEntry& entry, const std::set<std::string>& keys) {
  if (!keys.contains("issue")) return "no issue=: each entry has a link to its issue";
  if (!keys.contains("expires")) return "no expires=: each entry has a last day";
  if (entry.kind == Kind::kTolerated && !keys.contains("bucket")) {
    return "a tolerated entry needs bucket=: else it would excuse every failure";
  }
  if (entry.kind == Kind::kQuarantined && keys.contains("bucket")) {
    return "a quarantined case is not launched, so that it has no bucket=";
  }
  if (entry.kind == Kind::kQuarantined && !keys.contains("token") && !keys.contains("kernel") &&
      !keys.contains("arch")) {
    return "a quarantined entry needs token=, kernel= or arch=: else nothing would run";
  }
  return {};
}

// A line without its comment, which has a word or more. Empty when taken; else what is wrong.
std::string read_line(std::string_view line, LedgerEntry& entry) {
  std::istringstream words{std::string(line)};
  std::string word;
  words >> word;
  if (word != "tolerated" && word != "quarantined") {
    return fmt::format("'{}' is neither tolerated nor quarantined", word);
  }
  entry.kind = word == "tolerated" ? Kind::kTolerated : Kind::kQuarantined;
  std::set<std::string> keys;
  while (words >> word) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {  // the reason, in free words, ends the line
      std::getline(words, entry.why);
      entry.why = word + entry.why;
      break;
    }
    const std::string key = word.substr(0, equals);
    if (!keys.insert(key).second) return fmt::format("{}= is there twice", key);
    if (std::string why = take(key, std::string_view(word).substr(equals + 1), entry); !why.empty())
      return why;
  }
  return why_incomplete(entry, keys);
}

}  // namespace

Result<Ledger> Ledger::parse(std::string_view text, const std::string& name, Date today) {
  Ledger ledger;
  ledger.today_ = today;
  std::istringstream lines{std::string(text)};
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#') continue;
    LedgerEntry entry;
    entry.place = fmt::format("{}:{}", name, number);
    if (const std::string why = read_line(line, entry); !why.empty()) {
      return Trouble{TroubleKind::kUsage, fmt::format("{}: {}", entry.place, why)};
    }
    ledger.entries_.push_back(std::move(entry));
  }
  return ledger;
}

Result<Ledger> Ledger::read(const std::string& path, Date today) {
  std::ifstream file(path);
  std::string text;
  for (std::string line; std::getline(file, line);) text += line + "\n";
  if (!file.eof()) {
    return Trouble{TroubleKind::kUsage,
                   fmt::format("{}: the ledger cannot be read: {}", path, std::strerror(errno))};
  }
  return parse(text, path, today);
}

Result<Ledger> Ledger::open(const std::string& path) {
  return path == "none" ? Result<Ledger>(Ledger()) : read(path, today());
}

}  // namespace attest

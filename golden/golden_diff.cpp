#include "golden/golden_diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>

#include "harness/core/contract_changes.hpp"

namespace attest {
namespace {

using Values = std::vector<double>;

// By bits: -0 is not 0, and a NaN is itself.
bool same_bits(const Values& a, const Values& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

// The largest movement of one tensor, in units of what its error is relative to.
struct Movement {
  std::string of;
  double largest = 0;  // NaN or inf where values are not finite alike
  std::int64_t row = 0, column = -1;
  double before = 0, after = 0;

  void take(double moved, std::int64_t at_row, std::int64_t at_column, double was, double is) {
    if (moved <= largest) return;  // a NaN is taken, and stays
    if (std::isnan(largest)) return;
    largest = moved, row = at_row, column = at_column, before = was, after = is;
  }
  std::string text() const {
    const std::string place =
        column < 0 ? fmt::format("row {}", row) : fmt::format("row {} column {}", row, column);
    return fmt::format("{} by up to {:.2g} at {}: {:.17g} -> {:.17g}", of, largest, place, before,
                       after);
  }
};

double distance(double hi_a, double lo_a, double hi_b, double lo_b) {
  if (std::bit_cast<std::uint64_t>(hi_a) == std::bit_cast<std::uint64_t>(hi_b) &&
      !std::isfinite(hi_a))
    return 0;
  return std::fabs((hi_b - hi_a) + (lo_b - lo_a));
}

Movement of_lse(const GoldenCase& a, const GoldenCase& b) {
  Movement movement{.of = "lse"};
  for (std::size_t i = 0; i < a.lse_hi.size(); ++i) {
    const double moved = distance(a.lse_hi[i], a.lse_lo[i], b.lse_hi[i], b.lse_lo[i]);
    movement.take(moved / std::max(1.0, std::fabs(a.lse_hi[i])), static_cast<std::int64_t>(i), -1,
                  a.lse_hi[i], b.lse_hi[i]);
  }
  return movement;
}

Movement of_o(const GoldenCase& a, const GoldenCase& b) {
  Movement movement{.of = "o"};
  for (std::size_t i = 0; i < a.o_hi.size(); ++i) {
    const double moved = distance(a.o_hi[i], a.o_lo[i], b.o_hi[i], b.o_lo[i]);
    const auto at = static_cast<std::int64_t>(i);
    movement.take(moved == 0 ? 0 : moved / a.sum_a_abs_v[i], at / kDV, at % kDV, a.o_hi[i],
                  b.o_hi[i]);
  }
  return movement;
}

class CaseComparison {
 public:
  CaseComparison(const GoldenCase& before, const GoldenCase& after) : a_(before), b_(after) {}

  CaseDiff run() {
    diff_.token = a_.token;
    compare_contract();
    compare_inputs();
    if (a_.has_values() != b_.has_values())
      put("format", "format",
          a_.has_values() ? "digests in place of values"
                          : "values in place of "
                            "digests");
    if (a_.reference != b_.reference)
      put("reference version", "reference", a_.reference + " -> " + b_.reference);
    if (a_.has_values() && b_.has_values()) {
      compare_values();
      compare_magnitudes();
    } else {
      compare_digests();
    }
    std::sort(diff_.what.begin(), diff_.what.end());
    const bool of_reference = diff_.reasons == std::set<std::string>{"reference"};
    diff_.moved = diff_.what.empty()                  ? Moved::kSame
                  : of_reference && within_ && moved_ ? Moved::kImproved
                                                      : Moved::kChanged;
    return std::move(diff_);
  }

 private:
  void put(const std::string& what, const std::string& reason, const std::string& detail) {
    diff_.what.push_back(what);
    diff_.reasons.insert(reason);
    diff_.detail += fmt::format("{}{}", diff_.detail.empty() ? "" : "; ", detail);
  }
  // Of values: what follows from other inputs has no reason of its own.
  void follow(const std::string& what, const std::string& detail) {
    if (!inputs_moved_) return put(what, "reference", detail);
    diff_.what.push_back(what);
  }

  void compare_contract() {
    if (a_.contract != b_.contract)
      put("contract", "contract", contract_changes(a_.contract, b_.contract));
  }

  void compare_inputs() {
    std::vector<std::string> tensors;
    if (a_.digest_q != b_.digest_q) tensors.emplace_back("q");
    if (a_.digest_kv != b_.digest_kv) tensors.emplace_back("kv");
    if (a_.digest_tables != b_.digest_tables) tensors.emplace_back("tables");
    inputs_moved_ = !tensors.empty();
    // Distributions put their numbers where the contract has its seams.
    const std::string reason = a_.contract == b_.contract ? "input" : "contract";
    if (inputs_moved_) put("inputs", reason, fmt::format("{} moved", fmt::join(tensors, ", ")));
    if (a_.generator != b_.generator)
      put("generator version", "input", a_.generator + " -> " + b_.generator);
    if (a_.source != b_.source) put("format", "format", a_.source + " -> " + b_.source);
    if (!inputs_moved_) compare_captured();
  }

  // Where the digests of what is read are the same: pages that no sequence uses.
  void compare_captured() {
    if (a_.captured == b_.captured || a_.captured.empty() || b_.captured.empty()) return;
    std::set<std::string> names;
    for (const auto& [from, other] : {std::pair{&a_, &b_}, {&b_, &a_}}) {
      for (const GoldenCase::Captured& c : from->captured) {
        if (std::find(other->captured.begin(), other->captured.end(), c) == other->captured.end())
          names.insert(c.name);
      }
    }
    put("inputs", "input", fmt::format("{} moved where nothing reads it", fmt::join(names, ", ")));
  }

  void compare_values() {
    const bool same = same_bits(a_.o_hi, b_.o_hi) && same_bits(a_.o_lo, b_.o_lo) &&
                      same_bits(a_.lse_hi, b_.lse_hi) && same_bits(a_.lse_lo, b_.lse_lo);
    if (same && a_.error == b_.error) return;
    const Movement o = of_o(a_, b_), lse = of_lse(a_, b_);
    moved_ = true;
    within_ = o.largest <= a_.error && lse.largest <= a_.error && b_.error <= a_.error;
    std::string detail;
    for (const Movement& m : {o, lse}) {
      if (m.largest != 0) detail += (detail.empty() ? "" : ", ") + m.text();
    }
    follow("values", fmt::format("{}; stated error {:.2g} -> {:.2g}",
                                 detail.empty() ? "same numbers" : detail, a_.error, b_.error));
  }

  void compare_magnitudes() {
    std::string names;
    for (const GoldenField& field : golden_fields()) {
      const Values &x = a_.*field.values, &y = b_.*field.values;
      if (field.is_value || same_bits(x, y)) continue;
      names += (names.empty() ? "" : " ") + std::string(field.name);
      for (std::size_t i = 0; i < x.size(); ++i)  // kept to 24 bits
        within_ &= std::fabs(x[i] - y[i]) <= 0x1p-22 * std::fabs(x[i]);
    }
    moved_ |= !names.empty();
    if (!names.empty()) follow("magnitudes", names);
  }

  // Where one of them, or both, have no values.
  void compare_digests() {
    const auto before = digests_of_rows(a_), after = digests_of_rows(b_);
    std::size_t differ = 0;
    for (std::size_t row = 0; row < std::min(before.size(), after.size()); row += 16)
      differ += !std::equal(&before[row], &before[row] + 16, &after[row]);
    if (before != after)
      follow("values", fmt::format("{} of {} rows have another digest", differ, a_.rows()));
  }

  const GoldenCase &a_, &b_;
  CaseDiff diff_;
  bool inputs_moved_ = false, moved_ = false, within_ = true;
};

void count(GoldenDiff& diff) {
  for (const CaseDiff& c : diff.cases) {
    diff.same += c.moved == Moved::kSame;
    diff.improved += c.moved == Moved::kImproved;
    diff.changed += c.moved == Moved::kChanged;
  }
}

}  // namespace

std::string_view to_string(Moved moved) {
  switch (moved) {
    case Moved::kSame:
      return "SAME";
    case Moved::kImproved:
      return "IMPROVED";
    case Moved::kChanged:
      return "CHANGED";
  }
  return "?";
}

std::set<std::string> GoldenDiff::reasons() const {
  std::set<std::string> all;
  for (const CaseDiff& c : cases) all.insert(c.reasons.begin(), c.reasons.end());
  return all;
}

std::string GoldenDiff::summary() const {
  std::map<std::string, int> kinds;
  for (const CaseDiff& c : cases) {
    for (const std::string& what : c.what) ++kinds[what];
  }
  std::string text;
  for (const auto& [what, n] : kinds)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what, n);
  return fmt::format("{} same, {} improved, {} changed{}", same, improved, changed,
                     text.empty() ? "" : " (" + text + ")");
}

GoldenDiff diff_golden(const GoldenFile& before, const GoldenFile& after) {
  std::map<std::string, std::pair<const GoldenCase*, const GoldenCase*>> by_token;
  for (const GoldenCase& c : before.cases) by_token[c.token].first = &c;
  for (const GoldenCase& c : after.cases) by_token[c.token].second = &c;
  GoldenDiff diff;
  for (const auto& [token, pair] : by_token) {
    const auto [a, b] = pair;
    if (a != nullptr && b != nullptr) {
      diff.cases.push_back(CaseComparison(*a, *b).run());
    } else {
      diff.cases.push_back({.token = token,
                            .moved = Moved::kChanged,
                            .what = {a == nullptr ? "added" : "removed"},
                            .detail = "",
                            .reasons = {"input"}});
    }
  }
  count(diff);
  return diff;
}

}  // namespace attest

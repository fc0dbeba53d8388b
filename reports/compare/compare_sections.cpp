#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reports/compare/compare_text.hpp"

namespace attest {
namespace {

using Row = ComparedSection::Row;

std::string factor_text(double factor) {
  return std::isinf(factor) ? "no finite bound, or from 0" : fmt::format("{:.3g}x", factor);
}

ComparedSection bounds(const Comparison& c, bool is_looser) {
  ComparedSection section{
      is_looser ? "looser" : "tighter",
      is_looser
          ? "Bounds that allow more than they did, on the same inputs: they can hide a failure."
          : "Bounds that allow less than they did, on the same inputs.",
      {"kernel", "tensor", "bound", "cases", "furthest in"},
      {}};
  for (const BoundMove& move : c.bounds) {
    if (move.is_looser != is_looser) continue;
    std::string text = factor_text(move.usual);
    if (factor_text(move.factor) != text)
      text += fmt::format(", up to {}", factor_text(move.factor));
    section.rows.push_back({{move.kernel, move.tensor, text, cases_text(move.cases), move.token}});
  }
  return section;
}

ComparedSection contracts(const Comparison& c) {
  ComparedSection section{
      "contract",
      "What kernels promise, and so what they are judged by, is not what it was.",
      {"kernel", "what", "cases", "for example"},
      {}};
  for (const ContractChange& change : c.contracts) {
    section.rows.push_back(
        {{change.kernel, change.fields, cases_text(change.cases), change.token}});
  }
  return section;
}

std::string counts_text(const BucketChange& change) {
  std::string text = fmt::format("{} -> {} cases", change.base_cases, change.pr_cases);
  if (change.fate == BucketFate::kFixed && change.looked_at < change.base_cases) {
    text += change.looked_at == 0
                ? ", but PR has a verdict on none of them"
                : fmt::format(", but PR has a verdict on only {} of them", change.looked_at);
  }
  return text;
}

ComparedSection buckets(const Comparison& c, BucketFate fate) {
  const bool is_new = fate == BucketFate::kNew, is_open = fate == BucketFate::kOpen;
  ComparedSection section{is_new    ? "new"
                          : is_open ? "still open"
                                    : "fixed",
                          is_new    ? "Failures whose cause BASE did not have."
                          : is_open ? "Failures that BASE has as well."
                                    : "Failures that only BASE has.",
                          {"bucket", "status", "cases", "source", "shortest case"},
                          {}};
  for (const BucketChange& change : c.buckets) {
    if (change.fate != fate) continue;
    Row row{{change.bucket, change.status, counts_text(change), change.source, change.example}};
    if (is_new) row.reason = change.reason;
    if (fate != BucketFate::kFixed) row.command = change.see_again;
    section.rows.push_back(std::move(row));
  }
  return section;
}

ComparedSection statuses(const Comparison& c) {
  ComparedSection section{"verdicts",
                          "Cases that ended otherwise than on BASE.",
                          {"was -> is", "cases", "shortest case"},
                          {}};
  for (const StatusChange& change : c.statuses) {
    std::vector<std::string> tokens;
    for (const CaseRecord* record : change.cases) tokens.push_back(record->token);
    std::stable_sort(tokens.begin(), tokens.end(), [](const std::string& a, const std::string& b) {
      return a.size() < b.size();
    });
    Row row{{fmt::format("{} -> {}", to_string(change.before), to_string(change.after)),
             cases_text(static_cast<std::int64_t>(tokens.size())), tokens.front()}};
    row.others.assign(tokens.begin() + 1, tokens.end());
    section.rows.push_back(std::move(row));
  }
  return section;
}

ComparedSection drops(const Comparison& c) {
  ComparedSection section{"sees less",
                          "Passes that would notice less than they did.",
                          {"what", "was -> is", "case"},
                          {}};
  for (const VisibilityDrop& drop : c.drops) {
    section.rows.push_back(
        {{drop.what, fmt::format("{} -> {}", drop.before, drop.after), drop.token}});
  }
  return section;
}

ComparedSection ratios(const Comparison& c) {
  ComparedSection section{
      "error/bound",
      "Moved by more than 1.5x, counted from 1/16 upwards. Where the largest of a tensor says "
      "little "
      "(the last rounding to bf16 takes most of what o may have), the p99 or the median of its "
      "elements is told.",
      {"tensor", "of", "was -> is", "factor", "case"},
      {}};
  for (const RatioMove& move : c.ratios) {
    section.rows.push_back(
        {{move.tensor, move.what, fmt::format("{:.3g} -> {:.3g}", move.base, move.pr),
          fmt::format("{:.3g}x", move.factor()), move.token}});
  }
  return section;
}

ComparedSection tokens(const char* name, const char* about, const std::vector<std::string>& all) {
  ComparedSection section{name, about, {"case"}, {}};
  for (const std::string& token : all) section.rows.push_back({{token}});
  return section;
}

ComparedSection speed(const Comparison& c) {
  ComparedSection section{
      "time",
      c.is_host_time ? "Of the host that emulates, PR's over BASE's: it says nothing of a kernel's "
                       "speed on silicon, and decides nothing."
                     : "Launch to end of synchronize by the host's clock, PR's over BASE's; it "
                       "decides nothing.",
      {"kernel", "geometric mean", "cases", "slowest against BASE"},
      {}};
  for (const SpeedChange& change : c.speed) {
    const SpeedChange::OfCase& slowest = change.slowest.front();
    section.rows.push_back(
        {{change.kernel,
          fmt::format("{:.2f}x{}", change.ratio, c.is_host_time ? " (emulator host time)" : ""),
          cases_text(change.cases), fmt::format("{:.2f}x {}", slowest.ratio(), slowest.token)}});
  }
  return section;
}

}  // namespace

std::string cases_text(std::int64_t count) {
  return fmt::format("{} {}", count, count == 1 ? "case" : "cases");
}

std::vector<ComparedSection> sections_of(const Comparison& c) {
  std::vector<ComparedSection> sections = {
      bounds(c, true),
      contracts(c),
      buckets(c, BucketFate::kNew),
      statuses(c),
      drops(c),
      tokens("removed", "On BASE alone: what they saw, PR does not.", c.removed),
      tokens("unfinished", "Ended on BASE, but not on PR.", c.unfinished),
      ratios(c),
      bounds(c, false),
      buckets(c, BucketFate::kOpen),
      buckets(c, BucketFate::kFixed),
      tokens("added", "On PR alone.", c.added),
      tokens("base unfinished", "Ended on PR, but not on BASE: with nothing to compare.",
             c.only_on_pr),
      speed(c)};
  std::erase_if(sections, [](const ComparedSection& one) { return one.rows.empty(); });
  return sections;
}

std::string headline_of(const Comparison& c) {
  if (c.reasons.empty()) return c.is_same() ? "the same" : "nothing is worse";
  const int code = c.exit_code();
  std::string text = code == 1   ? "worse"
                     : code == 4 ? "the machine gave no verdict"
                     : code == 3 ? "incomplete"
                                 : "proves less";
  const char* separator = ": ";
  for (const Comparison::Reason& reason : c.reasons) {
    text += separator + reason.text;
    separator = ", ";
  }
  return text;
}

std::span<const CompareFormat> all_compare_formats() {
  static constexpr std::array kAll = {
      CompareFormat{"text", "for a terminal", compared_as_text},
      CompareFormat{"markdown", "for a comment on a pull request, which it replaces",
                    compared_as_markdown},
      CompareFormat{"json", "all of it", compared_as_json},
  };
  return kAll;
}

const CompareFormat* find_compare_format(std::string_view name) {
  for (const CompareFormat& format : all_compare_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

}  // namespace attest

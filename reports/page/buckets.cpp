// The second section: a card for each cause, with one case that shows it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "reports/page/page.hpp"
#include "reports/run/summary.hpp"

namespace attest::page {
namespace {

constexpr std::size_t kMostCases = 50, kMostCards = 200;

// The first word of a bucket (harness/bucket.hpp has the list).
std::string_view stage_in_words(std::string_view bucket) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"scores.", "Q\u00b7K and softmax"},
      {"values.", "P\u00b7V"},
      {"merge.", "the merge of the splits"},
      {"rounding.", "the last rounding of o"},
      {"stage1.", "the first kernel"},
      {"stage2.", "the second kernel, which merges"},
      {"launch.", "the launch"},
      {"memory.", "memory, seen after the launch"},
      {"suspect.", "no element alone, all together"},
      {"replay-", "the replay of a graph"}};
  for (const auto& [stage, words] : kWords) {
    if (bucket.starts_with(stage)) return words;
  }
  return "";
}

// At its dots a long one may break.
std::string bucket_html(const std::string& bucket) {
  std::string html;
  for (const char c : shown(bucket)) {
    html += c;
    if (c == '.') html += "<wbr>";
  }
  return html;
}

std::string value_text(double value, int digits) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "\u221e" : "\u2212\u221e";
  return fmt::format("{:.{}g}", value, digits);
}

std::string bits_text(const Worst& at, std::uint32_t bits) {
  const bool is_bf16 = at.tensor != "lse" && at.tensor != "partial_lse" &&
                       std::max(at.actual_bits, at.expected_bits) <= 0xffff;
  return is_bf16 ? fmt::format("0x{:04x}", bits) : fmt::format("0x{:08x}", bits);
}

std::string worst_row(const Worst& at) {
  const bool is_wrong = !(at.ratio <= 1);
  std::string html =
      fmt::format("<tr{}><th scope=\"row\"><code>{}</code></th><td>{}</td>",
                  is_wrong ? " class=\"wrong\"" : "", shown(at.tensor), place_text(at));
  for (const auto& [value, bits] :
       {std::pair{at.actual, at.actual_bits}, {at.expected, at.expected_bits}}) {
    html += fmt::format("<td class=\"n\">{}<br><code>{}</code></td>", value_text(value, 9),
                        bits_text(at, bits));
  }
  for (const double value : {at.error, at.bound}) {
    html += fmt::format("<td class=\"n\">{}</td>", value_text(value, 3));
  }
  return html + fmt::format("<td class=\"n ratio\">{}{}</td><td>{}</td></tr>",
                            is_wrong ? "\u2715 " : "", value_text(at.ratio, 3), shown(at.tier));
}

std::string worst_table(const Verdict& verdict) {
  if (verdict.worst.empty()) return {};
  std::string html =
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"worst elements\"><table "
      "class=\"worst\"><thead><tr><th scope=\"col\">worst of</th><th scope=\"col\">at</th><th "
      "scope=\"col\">actual</th><th scope=\"col\">expected</th><th scope=\"col\">error</th><th "
      "scope=\"col\">bound</th><th scope=\"col\">ratio</th><th scope=\"col\">gate</th></tr></thead>"
      "<tbody>";
  for (const Worst& at : verdict.worst) html += worst_row(at);
  return html + "</tbody></table></div>";
}

std::string again_html(const Results& results, const CaseRecord& record) {
  const std::string text = again_text(results, record);
  if (see_again(results, record).empty()) {
    return fmt::format("<div class=\"again\">{}</div>", shown(text));
  }
  return fmt::format(
      "<div class=\"again\"><code>{}</code><button type=\"button\" class=\"copy\" "
      "data-copy=\"{}\" aria-label=\"copy the command that sees it again\">Copy</button></div>",
      shown(text), shown(text));
}

std::string maps_html(const CaseRecord& example) {
  if (example.verdict.fault_maps.empty()) return {};
  std::string html =
      "<details class=\"maps\" open><summary>Where the wrong elements are</summary><div "
      "class=\"row\">";
  for (const FaultMap& map : example.verdict.fault_maps) html += heat_map_html(map, example);
  return html + "</div></details>";
}

std::string statuses_html(const Finding& bucket) {
  std::map<Status, std::int64_t> counts;
  for (const CaseRecord* record : bucket.cases) ++counts[record->verdict.status];
  std::string html;
  for (const auto& [status, count] : counts) html += status_html(status, count) + " ";
  return html;
}

std::string kernels_text(const Finding& bucket) {
  std::vector<std::string> kernels;
  for (const CaseRecord* record : bucket.cases) {
    const std::string kernel = facts_of(*record).kernel;
    if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) {
      kernels.push_back(kernel);
    }
  }
  return fmt::format("{}", fmt::join(kernels, ", "));
}

std::string cases_html(const Finding& bucket) {
  const std::size_t n = bucket.cases.size();
  std::string html = fmt::format("<details class=\"cases\"><summary>{} case{}</summary><ul>", n,
                                 n == 1 ? "" : "s");
  for (std::size_t i = 0; i < n && i < kMostCases; ++i) {
    html += fmt::format("<li><code>{}</code></li>", shown(bucket.cases[i]->token));
  }
  if (n > kMostCases) html += fmt::format("<li>and {} more</li>", n - kMostCases);
  html += fmt::format(
      "</ul><button type=\"button\" class=\"only-bucket\" data-bucket=\"{}\">Show them in the table"
      "</button></details>",
      shown(bucket.bucket));
  return html;
}

std::string card_html(const Results& results, const Finding& bucket) {
  const Verdict& verdict = bucket.example->verdict;
  std::string html =
      fmt::format("<article class=\"bucket\"><h3><code>{}</code></h3><p class=\"meta\">{}",
                  bucket_html(bucket.bucket), statuses_html(bucket));
  html += fmt::format("<span>kernel <b>{}</b></span>", shown(kernels_text(bucket)));
  if (const std::string_view stage = stage_in_words(bucket.bucket); !stage.empty()) {
    html += fmt::format("<span>stage <b>{}</b></span>", stage);
  }
  if (!verdict.source.empty()) {
    html += fmt::format("<span>source <code>{}</code></span>", shown(verdict.source));
  }
  html += "</p>";
  if (!verdict.blame.empty())
    html += fmt::format("<p class=\"blame\">{}</p>", shown(verdict.blame));
  html += fmt::format("<p class=\"reason\">{}</p>", shown(verdict.reason));
  html += again_html(results, *bucket.example) + worst_table(verdict);
  return html + maps_html(*bucket.example) + cases_html(bucket) + "</article>";
}

}  // namespace

std::string buckets_html(const Results& results) {
  const std::vector<Finding> buckets = findings_of(results);
  std::string html =
      "<section id=\"buckets\" aria-labelledby=\"h-buckets\"><h2 "
      "id=\"h-buckets\">Buckets</h2>";
  if (buckets.empty())
    return html + "<p class=\"empty\">No case that ended is wrong.</p></section>";
  html +=
      "<p class=\"lead\">The cases that go wrong in one way: stage, kind, pattern, kernel. The "
      "gravest "
      "come first; shown is the case with the shortest token.</p>";
  for (std::size_t i = 0; i < buckets.size() && i < kMostCards; ++i) {
    html += card_html(results, buckets[i]);
  }
  if (buckets.size() > kMostCards) {
    html += fmt::format("<p>and {} more buckets: filter the cases by their status</p>",
                        buckets.size() - kMostCards);
  }
  return html + "</section>";
}

}  // namespace attest::page

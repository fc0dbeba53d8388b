// What the scripts draw, compact: words that many cases share stand once, in `words`, and are named
// by their place there; a case is an array. cases.js and data.js read it, in the same order.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <unordered_map>

#include "reports/page/page.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest::page {
namespace {

// A number to read, not to compute with.
Json rounded(double value, int digits = 4) {
  return number(std::strtod(fmt::format("{:.{}g}", value, digits).c_str(), nullptr));
}

class Words {
 public:
  int operator()(const std::string& raw) {
    const std::string word = visible(raw);
    const auto [found, is_new] = places_.try_emplace(word, static_cast<int>(list_.size()));
    if (is_new) list_.push_back(word);
    return found->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::unordered_map<std::string, int> places_;
  std::vector<std::string> list_;
};

Json worst_json(const Worst& at, Words& words) {
  Json terms = Json::array();
  for (const BoundTerm& term : at.terms) {
    terms.push_back(words(term.name));
    terms.push_back(rounded(term.value, 3));
  }
  return Json::array({words(at.tensor), words(at.tier), at.sequence, at.query_token, at.head,
                      at.split, at.column, rounded(at.actual, 9), rounded(at.expected, 9),
                      at.actual_bits, at.expected_bits, rounded(at.error), rounded(at.bound),
                      rounded(at.ratio), std::move(terms)});
}

Json evidence_json(const Evidence& e, Words& words) {
  Json strawmen = Json::array();
  for (const std::string& name : e.strawmen) strawmen.push_back(words(name));
  Json scores = Json::array();
  for (const Score& score : e.scores) {
    scores.push_back(words(score.filter));
    scores.push_back(rounded(score.z, 3));
  }
  return Json::array({rounded(e.logit_min), rounded(e.logit_max), rounded(e.n_eff_min),
                      rounded(e.n_eff_max), rounded(e.flush_mass), rounded(e.condition_max),
                      rounded(e.smallest_weight_seen), rounded(e.mismatch), e.rows_certified,
                      std::move(strawmen), std::move(scores)});
}

Json details_json(const CaseRecord& record, Words& words) {
  const Verdict& v = record.verdict;
  Json worst = Json::array();
  for (const Worst& at : v.worst) worst.push_back(worst_json(at, words));
  Json remarks = Json::array();
  for (const std::string& remark : v.remarks) remarks.push_back(visible(remark));
  return Json::array({visible(v.reason), visible(v.blame), visible(v.source), words(v.contract),
                      words(v.broken_tier), v.checked, v.wrong, v.schedules, record.tries,
                      words(record.phase), rounded(v.kernel_ms), std::move(worst),
                      evidence_json(v.evidence, words), std::move(remarks)});
}

Json row_json(const Results& results, const CaseRecord& record, const std::string& bucket,
              Words& words) {
  const Verdict& v = record.verdict;
  const CaseFacts facts = facts_of(record);
  return Json::array({visible(record.token), words(std::string(to_string(v.status))),
                      words(facts.kernel), words(facts.distribution), facts.longest,
                      rounded(largest_ratio(v, false)), rounded(largest_ratio(v, true)),
                      rounded(v.evidence.tokens_visible), rounded(v.evidence.pages_visible),
                      rounded(v.evidence.splits_visible), rounded(record.total_ms), words(bucket),
                      visible(see_again(results, record))});
}

Json cases_json(const Results& results, Words& words) {
  std::size_t wrong = 0;
  for (const CaseRecord& r : results.cases) wrong += r.verdict.status != Status::kPassed ? 1 : 0;
  std::unordered_map<const CaseRecord*, std::string> buckets;  // also of those without their own
  for (const Finding& finding : findings_of(results)) {
    for (const CaseRecord* record : finding.cases) buckets[record] = finding.bucket;
  }
  // What did not pass comes first: passes have what it leaves.
  std::size_t left_wrong = std::min(wrong, kMostDetails), left_passed = kMostDetails - left_wrong;
  Json cases = Json::array();
  for (const CaseRecord& record : results.cases) {
    std::size_t& left = record.verdict.status == Status::kPassed ? left_passed : left_wrong;
    const auto bucket = buckets.find(&record);
    cases.push_back(
        row_json(results, record, bucket == buckets.end() ? "" : bucket->second, words));
    if (left == 0) continue;
    --left;
    cases.back().push_back(details_json(record, words));
  }
  return cases;
}

// By kernel and tensor, the sum over the cases.
Json spreads_json(const Results& results, Words& words) {
  std::map<std::pair<std::string, std::string>, Spread> sums;
  for (const CaseRecord& record : results.cases) {
    const std::string kernel = facts_of(record).kernel;
    for (const Spread& spread : record.verdict.spreads) {
      Spread& sum = sums[{kernel, spread.tensor}];
      sum.sampled += spread.sampled;
      for (std::size_t i = 0; i < Spread::kBins; ++i) {
        sum.by_ratio[i] += spread.by_ratio[i];
        sum.by_ulp[i] += spread.by_ulp[i];
      }
    }
  }
  Json spreads = Json::array();
  for (const auto& [of, sum] : sums) {
    spreads.push_back(
        Json::array({words(of.first), words(of.second), sum.sampled, sum.by_ratio, sum.by_ulp}));
  }
  return spreads;
}

std::string again_of(const BucketLife& life) {
  Results of_its_run;
  of_its_run.runs.emplace_back().repro_options = life.repro_options;
  CaseRecord record;
  record.token = life.example;
  return see_again(of_its_run, record);
}

Json trend_json(const Trend& trend) {
  Json lines = Json::array();
  for (const TrendLine& line : trend.lines) {
    Json points = Json::array();
    for (const TrendPoint& p : line.points) {
      points.push_back(
          Json::array({visible(p.started), visible(p.build), p.cases, p.failed, rounded(p.median),
                       rounded(p.p90), rounded(p.p99), rounded(p.largest)}));
    }
    lines.push_back({{"family", visible(line.family)},
                     {"points", std::move(points)},
                     {"changes", line.changes}});
  }
  Json buckets = Json::array();
  for (const BucketLife& life : trend.buckets) {
    buckets.push_back(
        Json::array({visible(life.bucket), visible(life.first_seen), visible(life.last_seen),
                     life.runs_seen, life.runs_since, life.cases, rounded(life.flaky_rate),
                     rounded(life.seconds_to_first), visible(again_of(life))}));
  }
  return {{"lines", std::move(lines)}, {"buckets", std::move(buckets)}};
}

Json shapes_json() {
  Json shapes = Json::object();
  for (int s = 0; s <= static_cast<int>(Status::kXpass); ++s) {
    const auto status = static_cast<Status>(s);
    shapes[std::string(to_string(status))] = shape_of(status);
  }
  return shapes;
}

// JSON has "<" in texts alone, where an escape means the same; so have what JavaScript once took
// for ends of lines.
std::string safe_in_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string_view three = std::string_view(json).substr(i, 3);
    if (json[i] == '<') {
      safe += "\\u003c";
    } else if (three == "\u2028" || three == "\u2029") {
      safe += three == "\u2028" ? "\\u2028" : "\\u2029";
      i += 2;
    } else {
      safe += json[i];
    }
  }
  return safe;
}

}  // namespace

std::string data_json(const Results& results, const Trend& trend) {
  Words words;
  Json data = {{"shapes", shapes_json()},
               {"cases", cases_json(results, words)},
               {"spreads", spreads_json(results, words)},
               {"trend", trend_json(trend)}};
  data["words"] = words.list();
  return safe_in_script(to_line(data));
}

}  // namespace attest::page

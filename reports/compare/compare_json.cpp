#include <algorithm>

#include "reports/compare/compare_text.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

constexpr int kFormat = 1;

Json json_of(const Side& side) {
  return {{"name", side.name},
          {"run", to_json(side.header)},
          {"tally", to_json(side.tally)},
          {"drawn", side.drawn},
          {"notes", side.notes}};
}

Json json_of(const StatusChange& change) {
  Json tokens = Json::array();
  for (const CaseRecord* record : change.cases) tokens.push_back(record->planned_token());
  return {{"before", to_string(change.before)},
          {"after", to_string(change.after)},
          {"worse", change.is_worse},
          {"cases", tokens}};
}

const char* fate_text(BucketFate fate) {
  return fate == BucketFate::kNew ? "new" : fate == BucketFate::kOpen ? "open" : "fixed";
}

Json json_of(const BucketChange& c) {
  return {{"bucket", c.bucket},       {"fate", fate_text(c.fate)}, {"base_cases", c.base_cases},
          {"pr_cases", c.pr_cases},   {"looked_at", c.looked_at},  {"example", c.example},
          {"see_again", c.see_again}, {"status", c.status},        {"reason", c.reason},
          {"source", c.source}};
}

Json json_of(const BoundMove& m) {
  return {{"kernel", m.kernel}, {"tensor", m.tensor},         {"looser", m.is_looser},
          {"cases", m.cases},   {"factor", number(m.factor)}, {"usual", number(m.usual)},
          {"token", m.token}};
}

Json json_of(const ContractChange& c) {
  return {{"kernel", c.kernel}, {"fields", c.fields}, {"cases", c.cases}, {"token", c.token}};
}

Json json_of(const RatioMove& m) {
  return {{"token", m.token},       {"tensor", m.tensor}, {"of", m.what},
          {"base", number(m.base)}, {"pr", number(m.pr)}, {"factor", number(m.factor())}};
}

Json json_of(const VisibilityDrop& d) {
  return {{"token", d.token}, {"what", d.what}, {"before", d.before}, {"after", d.after}};
}

Json json_of(const SpeedChange& s) {
  Json slowest = Json::array();
  for (const SpeedChange::OfCase& one : s.slowest) {
    slowest.push_back({{"token", one.token}, {"base_ms", one.base_ms}, {"pr_ms", one.pr_ms}});
  }
  return {
      {"kernel", s.kernel}, {"cases", s.cases}, {"ratio", number(s.ratio)}, {"slowest", slowest}};
}

Json json_of(const Comparison::Reason& reason) {
  return {{"code", reason.code}, {"text", reason.text}};
}

template <class T>
Json json_of(const std::vector<T>& all) {
  Json json = Json::array();
  for (const T& one : all) json.push_back(json_of(one));
  return json;
}

}  // namespace

std::string compared_as_json(const Comparison& c) {
  return to_line({{"record", "comparison"},
                  {"format", kFormat},
                  {"exit_code", c.exit_code()},
                  {"same", c.is_same()},
                  {"reasons", json_of(c.reasons)},
                  {"base", json_of(c.base)},
                  {"pr", json_of(c.pr)},
                  {"compared", c.compared},
                  {"about_runs", c.about_runs},
                  {"bounds", json_of(c.bounds)},
                  {"contracts", json_of(c.contracts)},
                  {"buckets", json_of(c.buckets)},
                  {"statuses", json_of(c.statuses)},
                  {"visibility", json_of(c.drops)},
                  {"ratios", json_of(c.ratios)},
                  {"removed", c.removed},
                  {"added", c.added},
                  {"unfinished", c.unfinished},
                  {"only_on_pr", c.only_on_pr},
                  {"host_time", c.is_host_time},
                  {"speed", json_of(c.speed)}});
}

}  // namespace attest

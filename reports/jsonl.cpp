// JSON Lines, one record a line, each on disk before the next step: after a crash the last
// case_begin without a case_end names the case.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "reports/reporter.hpp"

namespace attest {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no inf and no NaN: they become text.
Json number(double value) {
  if (std::isfinite(value)) return value;
  return fmt::format("{}", value);
}

Json to_json(const Worst& w) {
  Json terms = Json::array();
  for (const BoundTerm& term : w.terms)
    terms.push_back({{"name", term.name}, {"value", number(term.value)}});
  return {{"tensor", w.tensor},
          {"tier", w.tier},
          {"sequence", w.sequence},
          {"query_token", w.query_token},
          {"head", w.head},
          {"split", w.split},
          {"column", w.column},
          {"actual", number(w.actual)},
          {"expected", number(w.expected)},
          {"actual_bits", fmt::format("0x{:x}", w.actual_bits)},
          {"expected_bits", fmt::format("0x{:x}", w.expected_bits)},
          {"error", number(w.error)},
          {"bound", number(w.bound)},
          {"ratio", number(w.ratio)},
          {"terms", terms}};
}

Json to_json(const Score& s) {
  return {{"filter", s.filter},           {"z", number(s.z)},
          {"sequence", s.sequence},       {"split", s.split},
          {"token_begin", s.token_begin}, {"token_end", s.token_end}};
}

// -1 stands for "there is nothing to lose".
Json share(double value) { return value < 0 ? Json(nullptr) : number(value); }

Json to_json(const Evidence& e) {
  Json scores = Json::array();
  for (const Score& score : e.scores) scores.push_back(to_json(score));
  return {{"logit_min", number(e.logit_min)},
          {"logit_max", number(e.logit_max)},
          {"n_eff_min", number(e.n_eff_min)},
          {"n_eff_max", number(e.n_eff_max)},
          {"flush_mass", number(e.flush_mass)},
          {"gain_bias", number(e.gain_bias)},
          {"condition_max", number(e.condition_max)},
          {"tokens_visible", share(e.tokens_visible)},
          {"pages_visible", share(e.pages_visible)},
          {"splits_visible", share(e.splits_visible)},
          {"smallest_weight_seen", number(e.smallest_weight_seen)},
          {"mismatch", number(e.mismatch)},
          {"rows_certified", e.rows_certified},
          {"reference_off", number(e.reference_off)},
          {"strawmen", e.strawmen},
          {"scores", scores}};
}

Json to_json(const Tally& t) {
  return {{"passed", t.passed}, {"suspect", t.suspect}, {"vacuous", t.vacuous},
          {"failed", t.failed}, {"flaky", t.flaky},     {"crashed", t.crashed},
          {"hung", t.hung},     {"skipped", t.skipped}, {"infra", t.infra},
          {"xfail", t.xfail},   {"xpass", t.xpass},     {"interrupted", t.interrupted}};
}

class JsonLines : public Reporter {
 public:
  explicit JsonLines(std::FILE* to) : to_(to) {}

  void run_begin(const RunHeader& h) override {
    write({{"record", "run_begin"},
           {"format", 1},
           {"command", h.command},
           {"device", h.device},
           {"machine", h.machine},
           {"cases", h.cases}});
  }
  void case_begin(std::int64_t index, const std::string& token) override {
    write({{"record", "case_begin"}, {"index", index}, {"token", token}});
  }
  void case_end(const CaseRecord& r) override {
    Json worst = Json::array();
    for (const Worst& w : r.verdict.worst) worst.push_back(to_json(w));
    write({{"record", "case_end"},
           {"token", r.token},
           {"status", to_string(r.verdict.status)},
           {"reason", r.verdict.reason},
           {"bucket", r.verdict.bucket},
           {"broken_tier", r.verdict.broken_tier},
           {"blame", r.verdict.blame},
           {"remarks", r.verdict.remarks},
           {"checked", r.verdict.checked},
           {"wrong", r.verdict.wrong},
           {"schedules", r.verdict.schedules},
           {"total_ms", number(r.total_ms)},
           {"worst", worst},
           {"evidence", to_json(r.verdict.evidence)}});
  }
  void run_end(const Tally& tally, double seconds) override {
    write({{"record", "run_end"},
           {"tally", to_json(tally)},
           {"total", tally.total()},
           {"exit_code", exit_code(tally)},
           {"seconds", number(seconds)}});
  }
  std::string trouble() const override { return trouble_; }

 private:
  void write(const Json& record) {
    // A reason may quote bytes of a hostile file: what is no UTF-8 is replaced, not thrown.
    const std::string line = record.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    const bool written = std::fwrite(line.data(), 1, line.size(), to_) == line.size();
    if ((std::fflush(to_) != 0 || !written) && trouble_.empty()) trouble_ = std::strerror(errno);
    fsync(fileno(to_));  // fails on pipes, which need none
  }

  std::FILE* to_;
  std::string trouble_;
};

}  // namespace

std::unique_ptr<Reporter> make_jsonl_reporter(std::FILE* to) {
  return std::make_unique<JsonLines>(to);
}

}  // namespace attest

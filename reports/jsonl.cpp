// JSON Lines, one record a line, each on disk before the next step: after a crash the last
// case_begin without a case_end names the case. The fields: reports/schemas/results.schema.json.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "reports/format.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/verdict_json.hpp"

namespace attest {
namespace {

Json record_of(const char* kind, Json fields) {
  Json record = {{"record", kind}};
  record.update(fields);
  return record;
}

Json begin_record(const RunHeader& header) { return record_of("run_begin", to_json(header)); }

Json plan_record(std::span<const PlannedCase> cases) {
  Json planned = Json::array();
  for (const PlannedCase& one : cases) planned.push_back(to_json(one));
  return record_of("plan", {{"cases", planned}});
}

Json end_record(const Tally& tally, int code, double seconds) {
  return record_of("run_end", {{"tally", to_json(tally)},
                               {"total", tally.total()},
                               {"exit_code", code},
                               {"seconds", number(seconds)}});
}

class JsonLines : public Reporter {
 public:
  explicit JsonLines(std::FILE* to) : to_(to) {}

  void run_begin(const RunHeader& header) override { write(begin_record(header)); }
  void plan(std::span<const PlannedCase> cases) override { write(plan_record(cases)); }
  void case_begin(std::int64_t index, const std::string& token) override {
    write({{"record", "case_begin"}, {"index", index}, {"token", token}});
  }
  void case_end(const CaseRecord& record) override {
    write(record_of("case_end", to_json(record)));
    if (!is_graded(record)) ungraded_.push_back(record.verdict.status);
  }
  void run_end(const Tally& tally, double seconds) override {
    Tally graded = tally;
    for (const Status status : ungraded_) graded.remove(status);
    write(end_record(tally, exit_code(graded), seconds));
  }
  std::string trouble() const override { return trouble_; }

 private:
  void write(const Json& record) {
    const std::string line = to_line(record);
    const bool written = std::fwrite(line.data(), 1, line.size(), to_) == line.size();
    if ((std::fflush(to_) != 0 || !written) && trouble_.empty()) trouble_ = std::strerror(errno);
    fsync(fileno(to_));  // fails on pipes, which need none
  }

  std::FILE* to_;
  std::vector<Status> ungraded_;
  std::string trouble_;
};

}  // namespace

std::unique_ptr<Reporter> make_jsonl_reporter(std::FILE* to) {
  return std::make_unique<JsonLines>(to);
}

std::string render_jsonl(const Results& results, const Trend& /*trend*/) {
  std::string text;
  for (const RunHeader& header : results.runs) text += to_line(begin_record(header));
  if (!results.planned.empty()) text += to_line(plan_record(results.planned));
  for (const CaseRecord& record : results.cases) {
    text += to_line(record_of("case_end", to_json(record)));
  }
  return text + to_line(end_record(results.tally, run_exit_code(results), results.seconds));
}

}  // namespace attest

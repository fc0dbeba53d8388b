// JUnit XML in the dialect of Jenkins and Surefire that CI systems read (schemas/junit.xsd). A case
// is a <testcase>; what is not green in the exit code is not green here:
//   failure   failed, flaky, xpass; suspect and vacuous, whose pass would prove too little
//   error     crashed, hung, infra; a planned case that did not end
//   skipped   skipped, xfail with its issue, and what was drawn beside the plan and is vacuous
// The story is in the element's text: GitLab shows no `message`.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostOfText = 64 * 1024, kMostOfReason = 16 * 1024, kMostOfMessage = 1000,
                      kMostOfBrief = 300;
// GitLab refuses a report of 30 MB. What is wrong comes first: whole up to the first limit, in
// brief up to the second; all together up to the third.
constexpr std::size_t kMiB = 1024 * 1024, kMostWhole = 8 * kMiB, kMostWrong = 12 * kMiB,
                      kMostInAll = 16 * kMiB;
constexpr const char* kLeftOut =
    "left out here, as CI systems refuse a large file: ./attest report on the run's results.jsonl "
    "has all of it";

std::string_view escaped(std::string_view character) {
  switch (character[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    default:
      return character;
  }
}

// For texts and for attributes in double quotes; at most so many bytes once escaped.
std::string xml(std::string_view raw, std::size_t most_bytes = kMostOfText) {
  const std::string shown = visible(raw);
  std::string out;
  std::string_view text = shown;
  while (!text.empty()) {
    const std::string_view character = text.substr(0, character_bytes(text));
    const std::string_view piece = escaped(character);
    if (out.size() + piece.size() > most_bytes) return out + "…";
    out += piece;
    text.remove_prefix(character.size());
  }
  return out;
}

enum class Shown { kGreen, kFailure, kError, kSkipped };

Shown shown_as(const CaseRecord& record) {
  if (!is_graded(record)) return Shown::kSkipped;
  switch (record.verdict.status) {
    case Status::kFailed:
    case Status::kFlaky:
    case Status::kXpass:
    case Status::kSuspect:
    case Status::kVacuous:
      return Shown::kFailure;
    case Status::kCrashed:
    case Status::kHung:
    case Status::kInfra:
      return Shown::kError;
    case Status::kSkipped:
    case Status::kXfail:
      return Shown::kSkipped;
    case Status::kPassed:
      break;
  }
  return Shown::kGreen;
}

std::string classname_of(const CaseRecord& record) {
  const CaseFacts facts = facts_of(record);
  std::string name = facts.kernel.empty() ? "attest" : facts.kernel;
  if (!facts.distribution.empty()) name += "." + facts.distribution;
  return name;
}

struct Case {
  std::string name, classname;
  double seconds = 0;
  Shown shown = Shown::kGreen;
  std::string_view type;
  std::string story;
};

std::string element_of(const Case& of, std::size_t most_of_name, std::size_t most_of_message,
                       std::string_view story) {
  const std::string begin =
      fmt::format(R"(    <testcase name="{}" classname="{}" time="{:.3f}")",
                  xml(of.name, most_of_name), xml(of.classname, most_of_name), of.seconds);
  const std::string message = xml(of.story.substr(0, of.story.find('\n')), most_of_message);
  const auto with = [&](std::string_view element, std::string_view type) {
    return fmt::format("{}>\n      <{}{} message=\"{}\">{}</{}>\n    </testcase>\n", begin, element,
                       type, message, xml(story), element);
  };
  switch (of.shown) {
    case Shown::kSkipped:
      return with("skipped", "");
    case Shown::kFailure:
      return with("failure", fmt::format(" type=\"{}\"", of.type));
    case Shown::kError:
      return with("error", fmt::format(" type=\"{}\"", of.type));
    case Shown::kGreen:
      break;
  }
  return begin + "/>\n";
}

class Suite {
 public:
  explicit Suite(const Results& results) : results_(results) {
    elements_.resize(results.cases.size());
    for (const bool wrong : {true, false}) {  // so that passes take no place from a failure
      for (std::size_t i = 0; i < results.cases.size(); ++i) {
        const CaseRecord& record = results.cases[i];
        if (is_wrong(shown_as(record)) == wrong) elements_[i] = element(case_of(record));
      }
      if (wrong) add_what_no_case_says();
    }
  }

  std::string text() const {
    const RunHeader& header = results_.header();
    const std::string counts =
        fmt::format(R"(tests="{}" failures="{}" errors="{}")", tests_, failures_, errors_);
    const std::string time = fmt::format(R"(time="{:.3f}")", results_.seconds);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"attest {}\" {} {}>\n"
        "  <testsuite name=\"{}\" {} skipped=\"{}\" {}{}>\n{}{}{}  </testsuite>\n</testsuites>\n",
        xml(header.command), counts, time, xml(header.device), counts, skipped_, time, timestamp(),
        properties(), fmt::join(elements_, ""), notes());
  }

 private:
  static bool is_wrong(Shown shown) { return shown == Shown::kFailure || shown == Shown::kError; }

  Case case_of(const CaseRecord& record) const {
    const Status status = record.verdict.status;
    std::string story;
    if (status == Status::kSkipped)
      story = record.verdict.reason;
    else if (status != Status::kPassed)
      story = story_of(results_, record, kMostOfReason);
    return {record.token,     classname_of(record), record.total_ms / 1000,
            shown_as(record), to_string(status),    story};
  }

  Case missing_case(const std::string& token) const {
    CaseRecord record;
    record.token = token;
    record.verdict.reason = "it was planned, and did not end: nothing is known of it";
    return {token,     classname_of(record),
            0,         Shown::kError,
            "missing", story_of(results_, record, kMostOfReason)};
  }

  // Planned cases that did not end; and what only the exit code says: a plan that was cut short, or
  // nothing but skipped cases.
  void add_what_no_case_says() {
    for (const std::string& token : results_.missing) {
      elements_.push_back(element(missing_case(token)));
    }
    const int code = run_exit_code(results_);
    if (code == 0 || failures_ + errors_ > 0) return;
    elements_.push_back(element(
        {"the run as a whole", "attest", 0, Shown::kError, exit_text(code), proof_of(results_)}));
  }

  // As much of it as there is room for.
  std::string element(const Case& of) {
    const bool wrong = is_wrong(of.shown);
    std::string text = element_of(of, kMostOfText, kMostOfMessage, of.story);
    if (bytes_ + text.size() > (wrong ? kMostWhole : kMostInAll) && !of.story.empty()) {
      text = element_of(of, kMostOfBrief, kMostOfBrief, kLeftOut);
      ++stories_left_out_;
    }
    if (bytes_ + text.size() > (wrong ? kMostWrong : kMostInAll)) {
      ++cases_left_out_;
      return {};
    }
    bytes_ += text.size();
    ++tests_;
    if (of.shown == Shown::kFailure) ++failures_;
    if (of.shown == Shown::kError) ++errors_;
    if (of.shown == Shown::kSkipped) ++skipped_;
    return text;
  }

  // The dialect has no zone; the property has.
  std::string timestamp() const {
    std::string started = start_time_of(results_);
    if (started.empty()) return {};
    started.pop_back();
    return fmt::format(" timestamp=\"{}\"", started);
  }

  std::string properties() const {
    const RunHeader& header = results_.header();
    std::string text;
    const auto property = [&](const char* name, const std::string& value) {
      if (value.empty()) return;
      text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml(value));
    };
    property("device", header.device);
    property("machine", header.machine);
    property("build", header.build);
    property("bounds", header.bounds);
    property("exit_code", fmt::format("{}", run_exit_code(results_)));
    for (const RunHeader& run : results_.runs) {
      property("run", fmt::format("{} begun {}{}{}", run.run, run.started,
                                  run.shard.empty() ? "" : ", shard " + run.shard,
                                  run.resumed ? ", resumed" : ""));
    }
    return "    <properties>\n" + text + "    </properties>\n";
  }

  std::string notes() const {
    std::string text;
    for (const std::string& note : notes_of(results_)) text += note + "\n";
    if (stories_left_out_ > 0)
      text += fmt::format("{} stories are {}\n", stories_left_out_, kLeftOut);
    if (cases_left_out_ > 0) text += fmt::format("{} cases are {}\n", cases_left_out_, kLeftOut);
    return text.empty() ? "" : fmt::format("    <system-err>{}</system-err>\n", xml(text));
  }

  const Results& results_;
  std::int64_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
  std::int64_t stories_left_out_ = 0, cases_left_out_ = 0;
  std::size_t bytes_ = 0;
  std::vector<std::string> elements_;  // in the order of the cases
};

}  // namespace

std::string render_junit(const Results& results, const Trend& /*trend*/) {
  return Suite(results).text();
}

}  // namespace attest

// JUnit XML in the dialect of Jenkins and Surefire that CI systems read (schemas/junit.xsd). A case
// is a <testcase>; what is not green in the exit code is not green here:
//   failure   failed, flaky, xpass; suspect and vacuous, whose pass would prove too little
//   error     crashed, hung, infra; a planned case that did not end
//   skipped   skipped, and xfail with its issue
// The story is in the element's text: GitLab shows no `message`.
#include <fmt/format.h>

#include "reports/format.hpp"
#include "reports/run/summary.hpp"
#include "reports/run/text.hpp"

namespace attest {
namespace {

constexpr std::size_t kMostOfText = 64 * 1024, kMostOfReason = 16 * 1024, kMostOfMessage = 1000;

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

Shown shown_as(Status status) {
  switch (status) {
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

class Suite {
 public:
  explicit Suite(const Results& results) : results_(results) {
    for (const CaseRecord& record : results.cases) add(record);
    for (const std::string& token : results.missing) add_missing(token);
    // What only the exit code says: a plan that was cut short, or nothing but skipped cases.
    const int code = exit_code(results.tally);
    if (code != 0 && failures_ + errors_ == 0) {
      testcase("the run as a whole", "attest", 0, Shown::kError, exit_text(code),
               proof_of(results));
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
        properties(), cases_, notes());
  }

 private:
  void add(const CaseRecord& record) {
    const Status status = record.verdict.status;
    testcase(record.token, classname_of(record), record.total_ms / 1000, shown_as(status),
             to_string(status), told_of(record));
  }

  std::string told_of(const CaseRecord& record) const {
    if (record.verdict.status == Status::kPassed) return {};
    if (record.verdict.status == Status::kSkipped) return record.verdict.reason;
    return story_of(results_, record, kMostOfReason);
  }

  void add_missing(const std::string& token) {
    CaseRecord record;
    record.token = token;
    record.verdict.reason = "it was planned, and did not end: nothing is known of it";
    testcase(token, classname_of(record), 0, Shown::kError, "missing",
             story_of(results_, record, kMostOfReason));
  }

  void testcase(const std::string& name, const std::string& classname, double seconds, Shown shown,
                std::string_view type, const std::string& story) {
    ++tests_;
    cases_ += fmt::format(R"(    <testcase name="{}" classname="{}" time="{:.3f}")", xml(name),
                          xml(classname), seconds);
    const std::string message = xml(story.substr(0, story.find('\n')), kMostOfMessage);
    const std::string text = xml(story);
    switch (shown) {
      case Shown::kGreen:
        cases_ += "/>\n";
        return;
      case Shown::kSkipped:
        ++skipped_;
        cases_ += fmt::format(">\n      <skipped message=\"{}\">{}</skipped>\n", message, text);
        break;
      case Shown::kFailure:
      case Shown::kError:
        const bool is_failure = shown == Shown::kFailure;
        ++(is_failure ? failures_ : errors_);
        cases_ += fmt::format(">\n      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n",
                              is_failure ? "failure" : "error", type, message, text);
    }
    cases_ += "    </testcase>\n";
  }

  // The dialect has no zone; the property has.
  std::string timestamp() const {
    std::string started = results_.header().started;
    if (started.empty()) return {};
    if (started.ends_with('Z')) started.pop_back();
    return fmt::format(" timestamp=\"{}\"", xml(started));
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
    property("exit_code", fmt::format("{}", exit_code(results_.tally)));
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
    return text.empty() ? "" : fmt::format("    <system-err>{}</system-err>\n", xml(text));
  }

  const Results& results_;
  std::int64_t tests_ = 0, failures_ = 0, errors_ = 0, skipped_ = 0;
  std::string cases_;
};

}  // namespace

std::string render_junit(const Results& results, const Trend& /*trend*/) {
  return Suite(results).text();
}

}  // namespace attest

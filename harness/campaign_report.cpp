#include "harness/campaign_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

namespace attest {
namespace {

using Json = nlohmann::ordered_json;

std::string lengths_text(const std::vector<int>& lengths) {
  const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
  return *least == *most ? fmt::format("{}", *most) : fmt::format("{}..{}", *least, *most);
}

// "b 12, h 64, s_kv 0..3000, s_q 1..4, splits 16"
std::string shape_text(const Case& c) {
  const Problem& p = c.problem;
  std::string text = fmt::format("b {}, h {}, s_kv {}, s_q {}, splits {}", p.b(), p.h_q,
                                 lengths_text(p.s_kv), lengths_text(p.s_q), p.num_splits);
  if (!c.steps.empty()) {
    text += fmt::format(", {} steps", 1 + std::count(c.steps.begin(), c.steps.end(), '.'));
  }
  return text;
}

Json to_json(const Found& f) {
  return {{"bucket", f.bucket},
          {"token", to_token(f.first)},
          {"smallest", to_token(f.smallest)},
          {"index", f.index},
          {"seconds", f.seconds},
          {"cases", f.count},
          {"runs", f.runs},
          {"failures", f.failures},
          {"tries", f.tries},
          {"shrink_seconds", f.shrink_seconds},
          {"shrink_ended", f.shrink_ended},
          {"reason", f.verdict.reason},
          {"blame", f.verdict.blame}};
}

Json to_json(const Shares& shares) {
  Json json = Json::object();
  for (const auto& [name, share] : shares) {
    json[name] = {{"ran", share.ran}, {"failed", share.failed}};
  }
  return json;
}

Json to_json(const std::map<std::string, Largest>& largest) {
  Json json = Json::object();
  for (const auto& [tensor, one] : largest)
    json[tensor] = {{"ratio", one.ratio}, {"token", one.token}};
  return json;
}

std::string shares_text(const Shares& shares) {
  std::string text;
  for (const auto& [name, share] : shares) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, share.ran);
    if (share.failed > 0) text += fmt::format(" ({} failed)", share.failed);
  }
  return text;
}

double rate(const CampaignResult& r) { return r.seconds > 0 ? r.cases / r.seconds : 0; }

void print_found(std::FILE* to, const Found& f, const std::string& options) {
  fmt::print(to, "  {}  {} case{}{}\n", f.bucket, f.count, f.count == 1 ? "" : "s",
             f.is_flaky() ? fmt::format(", flaky: {} of {} runs fail", f.failures, f.runs) : "");
  fmt::print(to, "    ./attest repro '{}'{}\n", to_token(f.smallest), options);
}

// A reason may have several lines.
std::string indented(std::string text) {
  constexpr std::string_view kNext = "\n         ";
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += kNext.size()) {
    text.replace(at, 1, kNext);
  }
  return text;
}

constexpr std::size_t kNeverSeenShown = 8;

}  // namespace

std::string failure_text(const Case& c, const Verdict& verdict, const std::string& options) {
  std::string text = fmt::format("{:<8} {}\n         {}\n", to_string(verdict.status), to_token(c),
                                 indented(verdict.reason));
  if (!verdict.blame.empty()) text += fmt::format("         blame {}\n", verdict.blame);
  if (!verdict.bucket.empty()) text += fmt::format("         bucket {}\n", verdict.bucket);
  return text + fmt::format("         see it again: ./attest repro '{}'{}\n", to_token(c), options);
}

CampaignReport::CampaignReport(std::FILE* text, std::vector<std::FILE*> journals,
                               std::string corpus)
    : text_(text),
      journals_(std::move(journals)),
      corpus_(std::move(corpus)),
      status_(stderr_screen()) {}

void CampaignReport::begin(const RunHeader& header, std::uint64_t seed) {
  repro_options_ = header.repro_options;
  fmt::print(stderr, "fuzzing on {}, {}; seed {}\n", header.device, header.machine, seed);
  write_line(Json{
      {"event", "fuzz_begin"},
      {"command", header.command},
      {"device", header.device},
      {"machine", header.machine},
      {"seed",
       seed}}.dump());
}

CampaignEvents CampaignReport::events() {
  return {.begins = [this](std::int64_t index, const Case& c) { begins(index, c); },
          .failed = [this](const Case& c, const Verdict& v, bool is_new) { failed(c, v, is_new); },
          .rerun = [this](const Found& f) { rerun(f); },
          .smaller = [this](const Found& f) { smaller(f); },
          .shrunk = [this](const Found& f) { shrunk(f); },
          .progress = [this](const CampaignResult& r) { progress(r); },
          .enough = [this](const CampaignResult&) { return must_end(); }};
}

void CampaignReport::begins(std::int64_t index, const Case& c) {
  write_line(Json{{"event", "case_begin"}, {"index", index}, {"token", to_token(c)}}.dump());
}

void CampaignReport::failed(const Case& c, const Verdict& verdict, bool is_new) {
  status_.clear();
  if (text_ != nullptr) {
    // Later failures of a bucket that is known are counted, not told again in full.
    if (is_new) {
      fmt::print(text_, "{}", failure_text(c, verdict, repro_options_));
    } else {
      fmt::print(text_, "{:<8} {}  again {}\n", to_string(verdict.status), to_token(c),
                 verdict.bucket);
    }
    std::fflush(text_);
  }
  write_line(Json{{"event", "failed"},
                  {"token", to_token(c)},
                  {"status", to_string(verdict.status)},
                  {"bucket", verdict.bucket},
                  {"reason", verdict.reason},
                  {"blame", verdict.blame}}
                 .dump());
  if (is_new && is_failure(verdict.status)) keep(c, verdict.bucket);
}

void CampaignReport::rerun(const Found& f) {
  status_.clear();
  if (text_ != nullptr) {
    fmt::print(text_, "{:<8} {} of {} runs fail in {}\n", f.is_flaky() ? "flaky" : "stable",
               f.failures, f.runs, f.bucket);
    std::fflush(text_);
  }
  write_line(
      Json{{"event", "rerun"}, {"bucket", f.bucket}, {"runs", f.runs}, {"failures", f.failures}}
          .dump());
}

void CampaignReport::smaller(const Found& f) {
  write_line(
      Json{{"event", "smaller"}, {"bucket", f.bucket}, {"token", to_token(f.smallest)}}.dump());
}

void CampaignReport::shrunk(const Found& f) {
  status_.clear();
  if (text_ != nullptr) {
    fmt::print(text_, "shrunk   {}\n", to_token(f.smallest));
    fmt::print(text_, "         from {} to {}; {} tries, {:.1f} s; {}\n", shape_text(f.first),
               shape_text(f.smallest), f.tries, f.shrink_seconds, f.shrink_ended);
    fmt::print(text_, "         {}\n         see it again: ./attest repro '{}'{}\n",
               indented(f.verdict.reason), to_token(f.smallest), repro_options_);
    std::fflush(text_);
  }
  Json json = to_json(f);
  json["event"] = "shrunk";
  write_line(json.dump());
  if (is_failure(f.verdict.status)) keep(f.smallest, f.bucket);
}

void CampaignReport::keep(const Case& c, const std::string& bucket) {
  if (corpus_.empty()) return;
  const Outcome kept = add_to_corpus(corpus_, c, bucket);
  if (kept.ok()) return;
  const std::lock_guard lock(writing_);
  trouble_ += (trouble_.empty() ? "" : "; ") + kept.trouble().text;
}

void CampaignReport::write_line(const std::string& line) {
  const std::lock_guard lock(writing_);
  for (std::FILE* const to : journals_) {
    const std::string text = line + "\n";
    const bool written = std::fwrite(text.data(), 1, text.size(), to) == text.size();
    if (written && std::fflush(to) == 0) continue;
    if (trouble_.empty()) trouble_ = fmt::format("the journal: {}", std::strerror(errno));
  }
}

// A campaign whose finds cannot be kept is no use.
bool CampaignReport::must_end() {
  const std::lock_guard lock(writing_);
  return !trouble_.empty();
}

void CampaignReport::progress(const CampaignResult& r) {
  status_.show([&](int /*columns*/) {
    return fmt::format("{} cases, {:.1f} cases/s, {} of {} pairs of the plan space, {} buckets",
                       r.cases, rate(r), r.coverage.seen(), r.coverage.possible(), r.found.size());
  });
}

void CampaignReport::end(const CampaignResult& r) {
  status_.clear();
  std::vector<std::string> never;
  for (const FeaturePair& pair : r.coverage.never_seen()) never.push_back(to_string(pair));
  if (text_ != nullptr) {
    fmt::print(text_, "{} cases: {}; {} elements judged in {:.1f} s, {:.1f} cases/s\n", r.cases,
               tally_text(r.tally), r.elements, r.seconds, rate(r));
    fmt::print(text_, "properties {}\n", shares_text(r.by_property()));
    fmt::print(text_, "coverage {} of {} pairs of the plan space\n", r.coverage.seen(),
               r.coverage.possible());
    for (std::size_t i = 0; i < std::min(never.size(), kNeverSeenShown); ++i) {
      fmt::print(text_, "  never seen: {}\n", never[i]);
    }
    if (never.size() > kNeverSeenShown) {
      fmt::print(text_, "  and {} more\n", never.size() - kNeverSeenShown);
    }
    for (const auto& [tensor, largest] : r.largest) {
      fmt::print(text_, "largest ratio of a pass in {} {:.4g}: {}\n", tensor, largest.ratio,
                 largest.token);
    }
    if (!r.found.empty()) fmt::print(text_, "buckets {}\n", r.found.size());
    for (const Found& f : r.found) print_found(text_, f, repro_options_);
    std::fflush(text_);
  }
  Json buckets = Json::array();
  for (const Found& f : r.found) buckets.push_back(to_json(f));
  write_line(Json{
      {"event", "fuzz_end"},
      {"cases", r.cases},
      {"seconds", r.seconds},
      {"elements", r.elements},
      {"tally", tally_text(r.tally)},
      {"pairs_seen", r.coverage.seen()},
      {"pairs_possible", r.coverage.possible()},
      {"never_seen", never},
      {"properties", to_json(r.by_property())},
      {"distributions", to_json(r.by_distribution())},
      {"largest", to_json(r.largest)},
      {"buckets",
       buckets}}.dump());
}

}  // namespace attest

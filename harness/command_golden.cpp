// golden generate, verify, diff, info. Exit codes of diff are h5diff's: 0 the same, 1 they differ,
// 2 one cannot be read.
#include "harness/command_golden.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/golden_diff.hpp"
#include "harness/golden_make.hpp"
#include "harness/golden_verify.hpp"
#include "harness/shell_word.hpp"

namespace attest {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::int64_t rows_of(const GoldenCase& c) {
  return static_cast<std::int64_t>(c.has_values() ? c.lse_hi.size() : c.row_digests.size() / 16);
}
std::int64_t rows_of(const GoldenFile& file) {
  std::int64_t rows = 0;
  for (const GoldenCase& c : file.cases) rows += rows_of(c);
  return rows;
}

std::uintmax_t bytes_of(const std::string& path) {
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  return none ? 0 : bytes;
}

// ---- diff ----

std::string line_of(const CaseDiff& c) {
  std::string line = fmt::format("{:<8}  {}", to_string(c.moved), c.token);
  if (!c.what.empty()) line += fmt::format("  {}", fmt::join(c.what, ", "));
  if (!c.detail.empty()) line += ": " + c.detail;
  return line;
}

json json_of(const GoldenDiff& diff) {
  json cases = json::array();
  for (const CaseDiff& c : diff.cases)
    cases.push_back({{"token", c.token},
                     {"moved", to_string(c.moved)},
                     {"what", c.what},
                     {"detail", c.detail},
                     {"reasons", c.reasons}});
  return {{"same", diff.same},
          {"improved", diff.improved},
          {"changed", diff.changed},
          {"reasons", diff.reasons()},
          {"cases", cases}};
}

int command_diff(const CommonOptions& common, const GoldenRequest& request) {
  const auto before = read_golden(request.files[0]);
  if (!before.ok()) return report_trouble(before.trouble());
  const auto after = read_golden(request.files[1]);
  if (!after.ok()) return report_trouble(after.trouble());
  const GoldenDiff diff = diff_golden(*before, *after);
  if (common.json) {
    fmt::print("{}\n", json_of(diff).dump());
  } else {
    for (const CaseDiff& c : diff.cases) {
      if (c.moved != Moved::kSame) fmt::print("{}\n", line_of(c));
    }
    fmt::print("{}\n", diff.summary());
  }
  return diff.all_same() ? 0 : 1;
}

// ---- generate ----

constexpr int kMostLines = 20;      // of a refusal
constexpr double kSlowSeconds = 2;  // a case that is told while it is made

Result<GoldenFile> make_file(const CommonOptions& common, const GoldenRequest& request) {
  const auto cases = select_cases(request.selection);
  if (!cases.ok()) return cases.trouble();
  GoldenFile file{.reason = "first", .changed = "all of it is new", .cases = {}};
  std::set<std::string> tokens;
  const auto add = [&](Result<GoldenInputs> from) -> Outcome {
    if (!from.ok()) return from.trouble();
    const auto begin = Clock::now();
    auto made = make_golden(*from, request.digests_only, common.threads);
    if (!made.ok()) return made.trouble();
    if (seconds_since(begin) > kSlowSeconds)
      fmt::print(stderr, "{}  {} rows in {:.1f} s\n", made->token, rows_of(*made),
                 seconds_since(begin));
    if (!tokens.insert(made->token).second)
      return Trouble{TroubleKind::kUsage, fmt::format("{} comes twice", made->token)};
    file.cases.push_back(std::move(*made));
    return Done{};
  };
  for (const std::string& path : request.captures) {
    if (const Outcome o = add(captured_inputs(path)); !o.ok()) return o.trouble();
  }
  for (const Case& c : *cases) {
    if (const Outcome o = add(generated_inputs(c, common.threads)); !o.ok()) return o.trouble();
  }
  return file;
}

std::string command_of(const GoldenRequest& request, const std::set<std::string>& reasons) {
  std::string text = "./attest golden generate";
  for (const std::string& suite : request.selection.suites) text += " --suite " + shell_word(suite);
  for (const std::string& path : request.captures) text += " --capture " + shell_word(path);
  if (!request.selection.match.empty()) text += " --match " + shell_word(request.selection.match);
  for (const std::string& token : request.selection.tokens) text += " " + shell_word(token);
  text += " --out " + shell_word(request.out);
  if (request.digests_only) text += " --hashes-only";
  for (const std::string& reason : reasons) text += " --reason " + reason;
  return text;
}

// Nothing is written: what would change, and how to say that it is meant.
int refuse(const GoldenRequest& request, const GoldenDiff& diff,
           const std::set<std::string>& given) {
  int lines = 0;
  for (const CaseDiff& c : diff.cases) {
    if (c.moved != Moved::kSame && lines++ < kMostLines) fmt::print(stderr, "{}\n", line_of(c));
  }
  if (lines > kMostLines) fmt::print(stderr, "... and {} more\n", lines - kMostLines);
  const std::string why =
      given.empty() ? "without a reason"
                    : fmt::format("for another reason than --reason {}", fmt::join(given, ", "));
  return report_trouble(
      {TroubleKind::kUsage,
       fmt::format("{} would change {}: {}. It is left as it is. If that is meant:\n  {}",
                   request.out, why, diff.summary(), command_of(request, diff.reasons()))});
}

// What is not worth minutes of computing first.
Outcome check_request(const GoldenRequest& request) {
  const Selection& s = request.selection;
  if (s.tokens.empty() && s.suites.empty() && s.match.empty() && request.captures.empty())
    return Trouble{TroubleKind::kUsage,
                   "golden generate: name cases: tokens, --suite, --match or --capture"};
  if (request.digests_only && !request.captures.empty())
    return Trouble{TroubleKind::kUsage,
                   "golden generate: --hashes-only keeps no inputs, and those of a --capture come "
                   "from nowhere else"};
  const auto folder = std::filesystem::path(request.out).parent_path();
  std::error_code none;
  if (!folder.empty() && !std::filesystem::is_directory(folder, none))
    return Trouble{TroubleKind::kInfra,
                   fmt::format("{}: there is no folder {}", request.out, folder.string())};
  if (std::filesystem::is_directory(request.out, none))
    return Trouble{TroubleKind::kInfra, fmt::format("{}: it is a folder", request.out)};
  return Done{};
}

void tell_written(const CommonOptions& common, const GoldenRequest& request, const GoldenFile& file,
                  const char* state, double seconds) {
  const std::uintmax_t bytes = bytes_of(request.out);
  if (common.json) {
    fmt::print("{}\n", json{{"file", request.out},
                            {"state", state},
                            {"cases", file.cases.size()},
                            {"rows", rows_of(file)},
                            {"bytes", bytes},
                            {"seconds", seconds}}
                           .dump());
    return;
  }
  fmt::print("{}: {}; {} cases, {} rows, {} bytes, {:.1f} s\n", request.out, state,
             file.cases.size(), rows_of(file), bytes, seconds);
}

int command_generate(const CommonOptions& common, const GoldenRequest& request) {
  if (const Outcome o = check_request(request); !o.ok()) return report_trouble(o.trouble());
  const auto begin = Clock::now();
  std::error_code none;
  const bool is_there = std::filesystem::exists(request.out, none);
  const auto before = is_there ? read_golden(request.out) : Result<GoldenFile>(GoldenFile{});
  if (!before.ok()) {
    Trouble trouble = before.trouble();
    trouble.text += ". It is left as it is; move it away to write a new one";
    return report_trouble(trouble);
  }
  auto file = make_file(common, request);
  if (!file.ok()) return report_trouble(file.trouble());
  if (file->cases.empty())
    return report_trouble({TroubleKind::kUsage, "golden generate: no case is selected"});
  if (is_there) {
    const GoldenDiff diff = diff_golden(*before, *file);
    if (diff.all_same()) {
      tell_written(common, request, *file, "unchanged", seconds_since(begin));
      return 0;
    }
    const std::set<std::string> given(request.reasons.begin(), request.reasons.end());
    if (given != diff.reasons()) return refuse(request, diff, given);
    file->reason = fmt::format("{}", fmt::join(given, ", "));
    file->changed = diff.summary();
  }
  if (const Outcome o = write_golden(*file, request.out); !o.ok())
    return report_trouble(o.trouble());
  tell_written(common, request, *file, is_there ? "changed" : "new", seconds_since(begin));
  return 0;
}

// ---- verify ----

std::uint64_t todays_seed() {
  return std::stoull(fmt::format("{:%Y%m%d}", fmt::localtime(std::time(nullptr))));
}

void tell_report(const CommonOptions& common, const std::string& path, std::uint64_t seed,
                 const GoldenReport& report) {
  if (common.json) {
    json disagreements = json::array();
    for (const GoldenDisagreement& d : report.disagreements)
      disagreements.push_back({{"token", d.token}, {"text", d.text}});
    fmt::print("{}\n", json{{"file", path},
                            {"seed", seed},
                            {"cases", report.cases},
                            {"rows", report.rows},
                            {"rows_by_digits", report.by_digits},
                            {"rows_by_stream", report.by_stream},
                            {"largest_of_stated_error", report.largest},
                            {"disagreements", disagreements}}
                           .dump());
    return;
  }
  for (const GoldenDisagreement& d : report.disagreements)
    fmt::print("DISAGREES  {}  {}\n", d.token, d.text);
  const std::string streamed =
      report.by_stream == 0
          ? ""
          : fmt::format(", {} longer ones by the streaming oracle alone", report.by_stream);
  fmt::print(
      "{}: {}; {} cases, {} rows, of which {} were recomputed in 50 digits{}; off by up to {:.2g} "
      "of the stated error; --seed {}\n",
      path,
      report.disagreements.empty() ? "agrees"
                                   : fmt::format("{} disagreements", report.disagreements.size()),
      report.cases, report.rows, report.by_digits, streamed, report.largest, seed);
}

int command_verify(const CommonOptions& common, const GoldenRequest& request) {
  int code = 0;
  GoldenVerifyOptions options{.threads = common.threads,
                              .seed = request.seed ? *request.seed : todays_seed(),
                              .all = request.all};
  for (const std::string& path : request.files) {
    const auto file = read_golden(path);
    if (!file.ok()) return report_trouble(file.trouble());
    const auto report = verify_golden(*file, options);
    if (!report.ok())
      return report_trouble(
          {report.trouble().kind, fmt::format("{}: {}", path, report.trouble().text)});
    tell_report(common, path, options.seed, *report);
    if (!report->disagreements.empty()) code = 1;
  }
  return code;
}

// ---- info ----

json json_of(const GoldenFile& file, const std::string& path) {
  json cases = json::array();
  for (const GoldenCase& c : file.cases)
    cases.push_back({{"token", c.token},
                     {"id", golden_id(c.token)},
                     {"rows", rows_of(c)},
                     {"kept", c.has_values() ? "values" : "hashes"},
                     {"source", c.source},
                     {"generator", c.generator},
                     {"reference", c.reference},
                     {"error", c.error},
                     {"contract", c.contract}});
  return {{"file", path},          {"format", kGoldenFormat}, {"bytes", bytes_of(path)},
          {"reason", file.reason}, {"changed", file.changed}, {"cases", cases}};
}

void print_info(const GoldenFile& file, const std::string& path) {
  std::set<std::string> versions;
  std::vector<const GoldenCase*> sorted;
  for (const GoldenCase& c : file.cases) {
    sorted.push_back(&c);
    versions.insert({c.generator, c.reference});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const GoldenCase* a, const GoldenCase* b) { return a->token < b->token; });
  fmt::print("{}: golden format {}, {} bytes, {} cases, {} rows; {}\nlast regeneration: {}{}\n",
             path, kGoldenFormat, bytes_of(path), file.cases.size(), rows_of(file),
             fmt::join(versions, ", "), file.reason,
             file.changed.empty() ? "" : " (" + file.changed + ")");
  fmt::print("{:<12}  {:>6}  {:<6}  {:<8}  {}\n", "group", "rows", "kept", "error", "token");
  for (const GoldenCase* c : sorted)
    fmt::print("{:<12}  {:>6}  {:<6}  {:<8}  {}{}\n", golden_id(c->token), rows_of(*c),
               c->has_values() ? "values" : "hashes",
               c->has_values() ? fmt::format("{:.1e}", c->error) : "-", c->token,
               c->source == "capture" ? "  (capture)" : "");
}

int command_info(const CommonOptions& common, const GoldenRequest& request) {
  for (const std::string& path : request.files) {
    const auto file = read_golden(path);
    if (!file.ok()) return report_trouble(file.trouble());
    if (common.json) {
      fmt::print("{}\n", json_of(*file, path).dump());
    } else {
      print_info(*file, path);
    }
  }
  return 0;
}

// ---- options ----

void add_generate(CLI::App& sub, GoldenRequest& request) {
  sub.add_option("tokens", request.selection.tokens, "cases");
  sub.add_option("--suite", request.selection.suites, "all cases of a suite; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  sub.add_option("--match", request.selection.match, "of these, those whose token holds it");
  sub.add_option("--capture", request.captures,
                 "a file of `attest export`, whose inputs are kept; may be given again")
      ->type_size(1)
      ->allow_extra_args(false);
  sub.add_option("--out", request.out, "file")->required();
  sub.add_flag("--hashes-only", request.digests_only, "a hash of each row in place of its values");
  sub.add_option("--reason", request.reasons,
                 "why a file that is there changes: input, reference, contract, format; all that "
                 "apply")
      ->check(CLI::IsMember(std::vector<std::string>(std::begin(kReasons), std::end(kReasons))))
      ->type_size(1)
      ->allow_extra_args(false);
}

void add_files(CLI::App& sub, GoldenRequest& request) {
  sub.add_option("files", request.files, "of golden generate")->required();
}

void add_verify(CLI::App& sub, GoldenRequest& request) {
  add_files(sub, request);
  sub.add_option("--seed", request.seed, "of the sample of rows; default: today's date");
  sub.add_flag("--all", request.all, "every row");
}

void add_diff(CLI::App& sub, GoldenRequest& request) {
  sub.add_option("files", request.files, "OLD NEW")->required()->expected(2);
}

constexpr std::array kVerbs = {
    GoldenVerb{"generate",
               "write what the formula gives for cases, and what its bounds are made of",
               add_generate, command_generate},
    GoldenVerb{"verify", "hashes, inputs and contracts, and a sample of rows by a second oracle",
               add_verify, command_verify},
    GoldenVerb{"diff", "what changed between two files, case by case; exit codes of h5diff",
               add_diff, command_diff},
    GoldenVerb{"info", "what is in a file", add_files, command_info},
};

}  // namespace

std::span<const GoldenVerb> golden_verbs() { return kVerbs; }

}  // namespace attest

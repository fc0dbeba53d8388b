// golden generate, golden diff.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/golden_diff.hpp"
#include "harness/command_golden.hpp"
#include "harness/golden_make.hpp"
#include "harness/shell_word.hpp"
#include "reports/run/say.hpp"

namespace attest {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
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
      say("{}  {} rows in {:.1f} s\n", made->token, made->rows(), seconds_since(begin));
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
    if (c.moved != Moved::kSame && lines++ < kMostLines) say("{}\n", line_of(c));
  }
  if (lines > kMostLines) say("... and {} more\n", lines - kMostLines);
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

int tell_written(const CommonOptions& common, const GoldenRequest& request, const GoldenFile& file,
                 const char* state, double seconds) {
  const std::uintmax_t bytes = file_bytes(request.out);
  if (common.json)
    return tell(json{{"file", request.out},
                     {"state", state},
                     {"cases", file.cases.size()},
                     {"rows", file.rows()},
                     {"bytes", bytes},
                     {"seconds", seconds}}
                        .dump() +
                    "\n",
                0);
  return tell(fmt::format("{}: {}; {} cases, {} rows, {} bytes, {:.1f} s\n", request.out, state,
                          file.cases.size(), file.rows(), bytes, seconds),
              0);
}

}  // namespace

int command_golden_diff(const CommonOptions& common, const GoldenRequest& request) {
  const auto before = read_golden(request.files[0]);
  if (!before.ok()) return report_trouble(before.trouble());
  const auto after = read_golden(request.files[1]);
  if (!after.ok()) return report_trouble(after.trouble());
  const GoldenDiff diff = diff_golden(*before, *after);
  const int code = diff.all_same() ? 0 : 1;
  if (common.json) return tell(json_of(diff).dump() + "\n", code);
  std::string text;
  for (const CaseDiff& c : diff.cases) {
    if (c.moved != Moved::kSame) text += line_of(c) + "\n";
  }
  return tell(text + diff.summary() + "\n", code);
}

int command_golden_generate(const CommonOptions& common, const GoldenRequest& request) {
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
      return tell_written(common, request, *file, "unchanged", seconds_since(begin));
    }
    const std::set<std::string> given(request.reasons.begin(), request.reasons.end());
    if (given != diff.reasons()) return refuse(request, diff, given);
    file->reason = fmt::format("{}", fmt::join(given, ", "));
    file->changed = diff.summary();
  }
  if (const Outcome o = write_golden(*file, request.out); !o.ok())
    return report_trouble(o.trouble());
  return tell_written(common, request, *file, is_there ? "changed" : "new", seconds_since(begin));
}

}  // namespace attest

// golden verify, golden info, and the options of all.
#include "harness/command_golden.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "golden/golden_diff.hpp"
#include "harness/device/device_list.hpp"
#include "harness/golden_run.hpp"
#include "harness/golden_verify.hpp"
#include "harness/ledger.hpp"
#include "reports/run/say.hpp"

namespace attest {
namespace {

using nlohmann::json;
// ---- verify ----

std::uint64_t todays_seed() {
  const Date date = today();
  return static_cast<std::uint64_t>(static_cast<int>(date.year())) * 10000 +
         static_cast<unsigned>(date.month()) * 100 + static_cast<unsigned>(date.day());
}

json json_of(const std::string& path, std::uint64_t seed, const GoldenReport& report) {
  json disagreements = json::array();
  for (const GoldenDisagreement& d : report.disagreements)
    disagreements.push_back({{"token", d.token}, {"text", d.text}});
  return {{"file", path},
          {"seed", seed},
          {"cases", report.cases},
          {"rows", report.rows},
          {"rows_by_digits", report.by_digits},
          {"rows_by_stream", report.by_stream},
          {"largest_of_stated_error", report.largest},
          {"disagreements", disagreements}};
}

std::string text_of(const std::string& path, std::uint64_t seed, const GoldenReport& report) {
  std::string text;
  for (const GoldenDisagreement& d : report.disagreements)
    text += fmt::format("DISAGREES  {}  {}\n", d.token, d.text);
  if (!report.proves_something())
    return text + fmt::format("{}: proves nothing: no row of it was recomputed\n", path);
  const std::string streamed =
      report.by_stream == 0
          ? ""
          : fmt::format(", {} longer ones by the streaming oracle alone", report.by_stream);
  return text +
         fmt::format(
             "{}: {}; {} cases, {} rows, of which {} were recomputed in 50 digits{}; off by up to "
             "{:.2g} of the stated error; --seed {}\n",
             path,
             report.disagreements.empty()
                 ? "agrees"
                 : fmt::format("{} disagreements", report.disagreements.size()),
             report.cases, report.rows, report.by_digits, streamed, report.largest, seed);
}

json json_of(const std::string& path, const std::string& device, const GoldenRun& run) {
  json disagreements = json::array();
  for (const GoldenDisagreement& d : run.disagreements)
    disagreements.push_back({{"token", d.token}, {"text", d.text}});
  return {{"file", path},
          {"device", device},
          {"passed", run.passed},
          {"by_values", run.by_values},
          {"skipped", run.skipped},
          {"not_run", run.left},
          {"elements", run.elements},
          {"disagreements", disagreements}};
}

std::string text_of(const std::string& path, const CommonOptions& common, const GoldenRun& run) {
  std::string text;
  for (const GoldenDisagreement& d : run.disagreements) {
    text += fmt::format("WRONG      {}  {}\n           see it again: ./attest repro '{}'{}\n",
                        d.token, d.text, d.token, repro_options(common));
  }
  return text +
         fmt::format(
             "{} on {}: {} cases passed, {} of them by the values of the file; {} wrong, {} "
             "skipped{}; {} elements within the bounds of this device's build\n",
             path, common.device, run.passed, run.by_values, run.disagreements.size(), run.skipped,
             run.left > 0 ? fmt::format(", {} not run, as the device was lost", run.left) : "",
             run.elements);
}

// The kernels, on a device, held to the files.
int run_files(const CommonOptions& common, const GoldenRequest& request,
              const std::vector<GoldenFile>& files) {
  CommonOptions its = common;
  its.device = request.device;
  const auto device =
      open_device(its.device, {.threads = its.threads, .guard_page = its.guard_page});
  if (!device.ok()) return report_trouble(device.trouble());
  int code = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& path = request.files[i];
    const auto run =
        run_golden(files[i], **device, {.code_objects = its.code_objects, .threads = its.threads});
    if (!run.ok())
      return worse_of(code, report_trouble({run.trouble().kind,
                                            fmt::format("{}: {}", path, run.trouble().text)}));
    if (!run->disagreements.empty()) code = 1;
    if (run->passed == 0) code = worse_of(code, 5);
    code =
        tell(common.json ? json_of(path, its.device, *run).dump() + "\n" : text_of(path, its, *run),
             code);
  }
  return code;
}

int command_verify(const CommonOptions& common, const GoldenRequest& request) {
  int code = 0;
  std::vector<GoldenFile> files;
  for (const std::string& path : request.files) {
    auto file = read_golden(path);
    if (!file.ok()) return report_trouble(file.trouble());
    files.push_back(std::move(*file));
  }
  GoldenVerifyOptions options{.threads = common.threads,
                              .seed = request.seed ? *request.seed : todays_seed(),
                              .all = request.all};
  if (!request.device.empty()) code = run_files(common, request, files);
  if (code == 4) return code;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string& path = request.files[i];
    const auto report = verify_golden(files[i], options);
    if (!report.ok())
      return report_trouble(
          {report.trouble().kind, fmt::format("{}: {}", path, report.trouble().text)});
    if (!report->disagreements.empty()) code = 1;
    if (!report->proves_something() && code == 0) code = 5;
    code = tell(common.json ? json_of(path, options.seed, *report).dump() + "\n"
                            : text_of(path, options.seed, *report),
                code);
  }
  return code;
}

// ---- info ----

json json_of(const GoldenFile& file, const std::string& path) {
  json cases = json::array();
  for (const GoldenCase& c : file.cases)
    cases.push_back({{"token", c.token},
                     {"id", golden_id(c.token)},
                     {"rows", c.rows()},
                     {"kept", c.has_values() ? "values" : "hashes"},
                     {"source", c.source},
                     {"generator", c.generator},
                     {"reference", c.reference},
                     {"error", c.error},
                     {"contract", c.contract}});
  return {{"file", path},          {"format", kGoldenFormat}, {"bytes", file_bytes(path)},
          {"reason", file.reason}, {"changed", file.changed}, {"cases", cases}};
}

std::string info_of(const GoldenFile& file, const std::string& path) {
  std::set<std::string> versions;
  std::vector<const GoldenCase*> sorted;
  for (const GoldenCase& c : file.cases) {
    sorted.push_back(&c);
    versions.insert({c.generator, c.reference});
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const GoldenCase* a, const GoldenCase* b) { return a->token < b->token; });
  std::string text = fmt::format(
      "{}: golden format {}, {} bytes, {} cases, {} rows; {}\nlast regeneration: {}{}\n", path,
      kGoldenFormat, file_bytes(path), file.cases.size(), file.rows(), fmt::join(versions, ", "),
      file.reason, file.changed.empty() ? "" : " (" + file.changed + ")");
  text +=
      fmt::format("{:<12}  {:>6}  {:<6}  {:<8}  {}\n", "group", "rows", "kept", "error", "token");
  for (const GoldenCase* c : sorted)
    text += fmt::format("{:<12}  {:>6}  {:<6}  {:<8}  {}{}\n", golden_id(c->token), c->rows(),
                        c->has_values() ? "values" : "hashes",
                        c->has_values() ? fmt::format("{:.1e}", c->error) : "-", c->token,
                        c->source == "capture" ? "  (capture)" : "");
  return text;
}

int command_info(const CommonOptions& common, const GoldenRequest& request) {
  int code = 0;
  for (const std::string& path : request.files) {
    const auto file = read_golden(path);
    if (!file.ok()) return report_trouble(file.trouble());
    code = tell(common.json ? json_of(*file, path).dump() + "\n" : info_of(*file, path), code);
  }
  return code;
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
  sub.add_option("--seed", request.seed, "of the sample of rows; default: today's date, UTC");
  sub.add_flag("--all", request.all, "every row");
  sub.remove_option(sub.get_option("--device"));
  sub.add_option("--device", request.device,
                 "also run the kernels there, and hold their outputs to the values of the file");
}

void add_diff(CLI::App& sub, GoldenRequest& request) {
  sub.add_option("files", request.files, "OLD NEW")->required()->expected(2);
}

constexpr std::array kVerbs = {
    GoldenVerb{"generate",
               "write what the formula gives for cases, and what its bounds are made of",
               add_generate, command_golden_generate},
    GoldenVerb{"verify", "hashes, inputs and contracts, and a sample of rows by a second oracle",
               add_verify, command_verify},
    GoldenVerb{"diff", "what changed between two files, case by case; exit codes of h5diff",
               add_diff, command_golden_diff},
    GoldenVerb{"info", "what is in a file", add_files, command_info},
};

}  // namespace

std::span<const GoldenVerb> golden_verbs() { return kVerbs; }

int tell(const std::string& text, int code) {
  if (say_to(stdout, "{}", text) && std::fflush(stdout) == 0) return code;
  return worse_of(
      code, report_trouble({TroubleKind::kInfra, fmt::format("stdout: {}", std::strerror(errno))}));
}

std::uintmax_t file_bytes(const std::string& path) {
  std::error_code none;
  const std::uintmax_t bytes = std::filesystem::file_size(path, none);
  return none ? 0 : bytes;
}

}  // namespace attest

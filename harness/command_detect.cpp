// detect: the table of what each check sees. Exit code 1 when ours have a hole.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fuzz/distributions/distribution.hpp"
#include "harness/commands.hpp"
#include "harness/core/problem.hpp"
#include "harness/detect.hpp"
#include "harness/detect_report.hpp"
#include "harness/runner.hpp"
#include "harness/selection.hpp"

namespace attest {
namespace {

constexpr int kQuickLongest = 4096;  // tokens of --quick

// What was typed, so that the table can be made again.
std::string command_of(const DetectRequest& request) {
  std::string text = "attest detect";
  for (const std::string& name : request.distributions) text += " --distribution " + name;
  for (const int length : request.lengths) text += fmt::format(" --length {}", length);
  if (request.quick) text += " --quick";
  if (request.heads != DetectRequest{}.heads) text += fmt::format(" --heads {}", request.heads);
  if (request.seed != 0) text += fmt::format(" --seed {}", request.seed);
  return text;
}

DetectOptions options_of(const CommonOptions& common, const DetectRequest& request) {
  DetectOptions options{.distributions = request.distributions,
                        .lengths = request.lengths,
                        .heads = request.heads,
                        .seed = {request.seed},
                        .threads = common.threads,
                        .stop = &stop_requested};
  if (options.distributions.empty()) {
    for (const Distribution* d : all_distributions()) options.distributions.emplace_back(d->name());
  }
  if (options.lengths.empty()) options.lengths = {64, 256, 1024, 4096, 16384, 65536, 327600};
  if (request.quick) std::erase_if(options.lengths, [](int n) { return n > kQuickLongest; });
  return options;
}

}  // namespace

int command_detect(const CommonOptions& common, const DetectRequest& request) {
  const DetectOptions options = options_of(common, request);
  if (options.lengths.empty()) {
    return report_trouble(
        {TroubleKind::kUsage, fmt::format("--quick: no length up to {}", kQuickLongest)});
  }
  for (const std::string& name : options.distributions) {
    if (find_distribution(name) == nullptr) return report_trouble(unknown_distribution(name));
  }
  stop_on_interrupt();
  const auto detection = detect(options, [](const DetectCase& c, double seconds) {
    fmt::print(stderr, "{:20} {:7} tokens  {:.2f} s\n", c.distribution, c.length, seconds);
  });
  if (!detection.ok()) return report_trouble(detection.trouble());
  const std::size_t cases = options.distributions.size() * options.lengths.size();
  if (detection->cases.size() < cases) {
    fmt::print(stderr, "attest: stopped after {} of {} cases: a part of the table would mislead\n",
               detection->cases.size(), cases);
    return 3;
  }
  const std::string command = command_of(request), markdown = detect_markdown(*detection, command);
  fmt::print("{}", common.json ? detect_json(*detection, command) : markdown);
  if (const int code = write_report(request.out, markdown); code != 0) return code;
  const auto holes = detect_holes(*detection);
  for (const std::string& hole : holes) fmt::print(stderr, "attest: {}\n", hole);
  return holes.empty() ? 0 : 1;
}

}  // namespace attest

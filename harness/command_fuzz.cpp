#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "fuzz/problems/draw.hpp"
#include "fuzz/problems/suites.hpp"
#include "fuzz/properties/property.hpp"
#include "harness/campaign.hpp"
#include "harness/campaign_report.hpp"
#include "harness/commands.hpp"
#include "harness/corpus.hpp"
#include "harness/device/device_list.hpp"
#include "harness/ledger.hpp"
#include "harness/machine.hpp"
#include "harness/out_file.hpp"
#include "harness/runner.hpp"
#include "harness/units.hpp"

namespace attest {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

Result<std::vector<const Kernel*>> kernels_named(const std::vector<std::string>& names) {
  if (names.empty()) return std::vector<const Kernel*>(all_kernels().begin(), all_kernels().end());
  std::vector<const Kernel*> kernels;
  for (const std::string& name : names) {
    const Kernel* const kernel = find_kernel(name);
    if (kernel == nullptr) return unknown_kernel(name);
    kernels.push_back(kernel);
  }
  return kernels;
}

// Why a kernel takes not even a case that was made for it: its code object is missing. Else empty.
std::string why_not_its_suite(const Kernel& kernel) {
  for (const std::string_view token : find_suite("external")->tokens) {
    const auto c = parse_token(token);
    if (c.ok() && c->kernel == kernel.name()) return kernel.why_unsupported(c->problem);
  }
  return "";
}

// Kernels of which only few problems are taken cannot be drawn.
Result<Done> can_be_drawn(const std::vector<const Kernel*>& kernels, std::uint64_t seed) {
  for (const Kernel* kernel : kernels) {
    std::string why = why_never_drawn(*kernel, seed);
    if (why.empty()) continue;
    if (const std::string more = why_not_its_suite(*kernel); !more.empty()) why = more;
    return usage(
        fmt::format("{} takes no problem that fuzz draws: {}; run its suite: ./attest run --suite "
                    "external --match '*k={}:*'",
                    kernel->name(), why, kernel->name()));
  }
  return Done{};
}

constexpr double kDefaultSeconds = 60;

Result<CampaignLimits> limits_of(const CommonOptions& common, const FuzzRequest& request) {
  CampaignLimits limits{.cases = request.cases, .threads = common.threads};
  limits.shrink.seconds = request.shrink_seconds;
  if (!request.duration.empty()) {
    const auto seconds = parse_seconds(request.duration);
    if (!seconds)
      return usage("--for takes a time such as 90s, 30m, 8h, not '" + request.duration + "'");
    limits.seconds = *seconds;
  } else if (request.cases < 0) {
    limits.seconds = kDefaultSeconds;
  }
  return limits;
}

Result<Done> known_properties(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name != kOracle && name != kTrajectory && find_property(name) == nullptr) {
      return unknown_property(name);
    }
  }
  return Done{};
}

Result<Done> can_be_asked(const CommonOptions& common, const DeviceFacts& device,
                          const std::vector<std::string>& properties) {
  for (const std::string& name : properties) {
    const Property* const property = find_property(name);
    if (device.is_emulated || property == nullptr || !property->needs_schedules()) continue;
    return usage(fmt::format("--property {}: it says nothing on {}, which chooses its own schedule",
                             name, common.device));
  }
  return Done{};
}

// The corpus' cases of these kernels.
std::vector<Case> of_kernels(const std::vector<CorpusCase>& kept,
                             const std::vector<const Kernel*>& kernels) {
  std::vector<Case> chosen;
  for (const CorpusCase& one : kept) {
    const bool wanted = std::any_of(kernels.begin(), kernels.end(), [&](const Kernel* kernel) {
      return kernel->name() == one.c.kernel;
    });
    if (wanted) chosen.push_back(one.c);
  }
  return chosen;
}

// A folder that is not there yet is made when the first failure is kept.
Result<std::vector<CorpusCase>> read_corpus_if_any(const std::string& folder) {
  std::error_code none;
  if (!std::filesystem::exists(folder, none)) return std::vector<CorpusCase>{};
  return read_corpus(folder);
}

// Of cases drawn at random some could not have failed: they prove nothing, and take nothing from
// what the others prove.
int exit_code_of(Tally tally) {
  tally.vacuous = tally.skipped = 0;
  return exit_code(tally);
}

}  // namespace

int command_fuzz(const CommonOptions& common, const FuzzRequest& request) {
  const auto kernels = kernels_named(request.kernels);
  if (!kernels.ok()) return report_trouble(kernels.trouble());
  if (const auto known = known_properties(request.properties); !known.ok()) {
    return report_trouble(known.trouble());
  }
  if (!request.target.empty() && !request.properties.empty()) {
    return report_trouble(usage("--target climbs the oracle's ratio: it takes no --property"));
  }
  if (const auto drawn = can_be_drawn(*kernels, request.seed); !drawn.ok()) {
    return report_trouble(drawn.trouble());
  }
  const auto limits = limits_of(common, request);
  if (!limits.ok()) return report_trouble(limits.trouble());
  const auto corpus = read_corpus_if_any(request.corpus);
  if (!corpus.ok()) return report_trouble(corpus.trouble());
  const auto ledger = Ledger::open(common.ledger);
  if (!ledger.ok()) return report_trouble(ledger.trouble());
  for (const std::string& line : ledger->warnings()) fmt::print(stderr, "attest: {}\n", line);
  if (request.isolate && common.schedules > 0) {
    return report_trouble(usage("--isolate takes no --schedules"));
  }
  const auto device = facts_of_device(common.device);
  if (!device.ok()) return report_trouble(device.trouble());
  if (const auto asked = can_be_asked(common, *device, request.properties); !asked.ok()) {
    return report_trouble(asked.trouble());
  }
  const auto out = open_out_file(request.out, "fuzz", "fuzz.jsonl");
  if (!out.ok()) return report_trouble(out.trouble());

  const DrawFrom from{request.seed, *kernels, request.properties, device->is_emulated};
  const auto source = after(of_kernels(*corpus, *kernels),
                            request.target.empty() ? random_cases(from) : climbing_cases(from));
  const Stand stand{runners_of({.common = common,
                                .isolated = request.isolate || !device->is_emulated,
                                .workers = common.threads + 1},
                               *ledger),
                    find_kernel};
  stop_on_interrupt();
  std::vector<std::FILE*> journals = {out->file.get()};
  if (common.json) journals.push_back(stdout);
  CampaignReport report(common.json ? nullptr : stdout, journals, request.corpus);
  report.begin({"fuzz", common.device, machine_text(*device), request.cases, repro_options(common)},
               request.seed);
  const CampaignResult result =
      run_campaign(*source, stand, *limits, report.events(), stop_requested);
  report.end(result);
  fmt::print(stderr, "journal: {}\n", out->path);
  int code = exit_code_of(result.tally);
  if (!result.trouble.text.empty()) code = worse_of(code, report_trouble(result.trouble));
  if (!report.trouble().empty()) {
    code = worse_of(code, report_trouble({TroubleKind::kInfra, report.trouble()}));
  }
  return code;
}

}  // namespace attest

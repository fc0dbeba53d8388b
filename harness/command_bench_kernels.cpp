#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "harness/bench_kernels.hpp"
#include "harness/bench_kernels_report.hpp"
#include "harness/command_bench.hpp"
#include "harness/device/device_list.hpp"
#include "harness/machine.hpp"
#include "harness/runner.hpp"

namespace attest {
namespace {

constexpr int kLeastTokens = 64;  // of a point: with fewer, the launch alone is measured

KernelBenchOptions options_of(const CommonOptions& common, const BenchKernelsRequest& request,
                              const Device& device) {
  KernelBenchOptions options = bench_options_for(device);
  options.code_objects = common.code_objects;
  options.threads = common.threads;
  options.page_size = request.page_size;
  options.timings = request.timings.value_or(options.timings);
  options.launches = request.launches.value_or(options.launches);
  if (request.distinct_mib) options.distinct_bytes = *request.distinct_mib << 20;
  if (request.read_mib) options.read_bytes = *request.read_mib << 20;
  return options;
}

std::string command_text(const CommonOptions& common, const BenchKernelsRequest& request) {
  std::string text = fmt::format(
      "bench kernels --device {} --kernel {} --heads {} --lengths {} "
      "--batches {}",
      common.device, request.kernel, fmt::join(request.heads, ","), fmt::join(request.lengths, ","),
      fmt::join(request.batches, ","));
  if (request.page_size != BenchKernelsRequest{}.page_size) {
    text += fmt::format(" --page {}", request.page_size);
  }
  if (request.splits != BenchKernelsRequest{}.splits) {
    text += fmt::format(" --splits {}", fmt::join(request.splits, ","));
  }
  const auto add = [&](const char* option, const auto& value) {
    if (value) text += fmt::format(" {} {}", option, *value);
  };
  add("--distinct-mib", request.distinct_mib);
  add("--read-mib", request.read_mib);
  add("--timings", request.timings);
  add("--launches", request.launches);
  return text;
}

std::vector<BenchPoint> points_of(const BenchKernelsRequest& request) {
  std::vector<BenchPoint> points;
  for (const int h_q : request.heads) {
    for (const int s_kv : request.lengths) {
      for (const int b : request.batches) {
        for (const int splits : request.splits) points.push_back({h_q, s_kv, b, splits});
      }
    }
  }
  return points;
}

// What a kernel did that stops it is its verdict; all else ends the command.
Result<KernelSpeed> measure(const Kernel& kernel, Device& device, const BenchPoint& point,
                            const KernelBenchOptions& options) {
  auto speed = bench_kernel(kernel, device, point, options);
  if (speed.ok()) return speed;
  const Trouble& trouble = speed.trouble();
  if (!is_of_kernel(trouble.kind)) {
    return Trouble{trouble.kind, fmt::format("h {}, s_kv {}, b {}: {}", point.h_q, point.s_kv,
                                             point.b, trouble.text)};
  }
  KernelSpeed none{.point = point};
  none.verdict = verdict_of(trouble, kernel.name());
  return none;
}

bool is_lost(const Verdict& verdict) {
  return verdict.status == Status::kCrashed || verdict.status == Status::kHung;
}

// Each row is told when it is measured. The exit code: of the verdicts, or trouble's.
int measure_all(const Kernel& kernel, Device& device, const BenchKernelsRequest& request, bool tell,
                KernelBenchReport& report) {
  Tally tally;
  const std::vector<BenchPoint> points = points_of(request);
  for (const BenchPoint& point : points) {
    if (stop_requested) break;
    auto speed = measure(kernel, device, point, report.options);
    if (!speed.ok()) return worse_of(exit_code(tally), report_trouble(speed.trouble()));
    tally.add(speed->verdict.status);
    report.rows.push_back(std::move(*speed));
    if (tell) fmt::print("{}", markdown_row(report, report.rows.back()));
    std::fflush(stdout);
    if (is_lost(report.rows.back().verdict)) break;
  }
  tally.interrupted = report.rows.size() < points.size();
  return exit_code(tally);
}

}  // namespace

void add_bench_kernels_options(CLI::App& sub, BenchKernelsRequest& request) {
  const auto list = [&](const char* name, std::vector<int>& values, const char* about, int least,
                        int most) {
    sub.add_option(name, values, about)
        ->delimiter(',')
        ->type_size(1)
        ->allow_extra_args(false)
        ->check(CLI::Range(least, most))
        ->capture_default_str();
  };
  sub.add_option("--kernel", request.kernel, "see `attest list`")->capture_default_str();
  list("--heads", request.heads, "query heads: a row for each of them", 1, kMaxHeads);
  list("--lengths", request.lengths, "tokens of each sequence", kLeastTokens, kMaxContext);
  list("--batches", request.batches, "sequences", 1, kMaxBatch);
  sub.add_option("--page", request.page_size, "tokens a page: 1, 16, 64")
      ->check(CLI::IsMember({1, 16, 64}))
      ->capture_default_str();
  list("--splits", request.splits, "0: as many as keep the device's processors busy once", 0,
       kMaxSplits);
  sub.add_option("--distinct-mib", request.distinct_mib,
                 "of inputs that the launches go round, at least; default: 256, 4 x L2 of an H200; "
                 "two sets on an emulator")
      ->check(CLI::Range(0, 1 << 17));
  sub.add_option("--read-mib", request.read_mib,
                 "that the read bandwidth is measured over; default: 4096; 1 on an emulator")
      ->check(CLI::Range(1, 1 << 17));
  sub.add_option("--timings", request.timings, "of a graph; default: 20; 2 on an emulator")
      ->check(CLI::Range(1, 1 << 20));
  sub.add_option("--launches", request.launches,
                 "of a graph, at least; default: 10; as many as sets on an emulator")
      ->check(CLI::Range(1, 1 << 12));
  sub.add_option("--out", request.out, "also write Markdown here");
}

int command_bench_kernels(const CommonOptions& common, const BenchKernelsRequest& request) {
  const Kernel* const known = find_kernel(request.kernel);
  if (known == nullptr) return report_trouble(unknown_kernel(request.kernel));
  const auto kernel = known->fresh();
  const auto device =
      open_device(common.device, {.threads = common.threads, .guard_page = common.guard_page});
  if (!device.ok()) return report_trouble(device.trouble());
  stop_on_interrupt();
  KernelBenchReport report{.kernel = request.kernel,
                           .device = common.device,
                           .hardware = (*device)->description(),
                           .machine = machine_text(),
                           .command = command_text(common, request),
                           .options = options_of(common, request, **device),
                           .read = {}};
  const auto read =
      bench_read(**device, common.code_objects, report.options.read_bytes, report.options.timings);
  if (!read.ok()) return report_trouble(read.trouble());
  report.read = *read;
  // A path that cannot be written to is told before the long part.
  if (const int code = write_report(request.out, markdown_head(report)); code != 0) return code;
  if (!common.json) fmt::print("{}", markdown_head(report));
  const int code = measure_all(*kernel, **device, request, !common.json, report);
  fmt::print("{}", common.json ? as_json(report) : markdown_foot(report));
  const int written = write_report(request.out, markdown(report));
  return written == 0 ? code : worse_of(code, written);
}

}  // namespace attest

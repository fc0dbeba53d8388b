#include "harness/bench_gpu_reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/evidence.hpp"
#include "harness/generate.hpp"
#include "harness/machine.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/reference_device.hpp"
#include "harness/strawmen.hpp"
#include "reference/gpu/gpu_reference.hpp"

namespace attest {
namespace {

constexpr int kRepeats = 7;

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
  return values[values.size() / 2];
}

// Median of what `work` takes, and of the device's part. The first time, which makes room on the
// device, does not count.
Outcome time_work(const GpuReference& gpu, int repeats, const std::function<Outcome()>& work,
                  GpuReferenceSpeed& speed) {
  std::vector<double> ms, busy;
  for (int i = 0; i <= repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (Outcome done = work(); !done.ok()) return done;
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - begin;
    if (i == 0) continue;
    ms.push_back(spent.count());
    busy.push_back(gpu.busy_ms());
  }
  speed.ms = median(ms);
  speed.busy_ms = median(busy);
  return Done{};
}

struct Bench {
  GpuReference& gpu;
  const Case& c;
  const Inputs& inputs;
  const Subject& subject;
  const Output& output;  // of a kernel without any error of its own
  int threads;

  Outcome reference_of(Detail detail, bool scored) const {
    ReferenceOptions options{.threads = threads, .detail = detail};
    options.device = &gpu;
    if (scored) options.observed = {output.o};
    const auto made = reference(c.problem, inputs, subject.contract, subject.num_splits, options);
    if (!made.ok()) return made.trouble();
    return Done{};
  }
  // As verify() does, of a kernel's output.
  Outcome verdict() const {
    VerifyOptions options{.code_objects = {}, .threads = threads};
    options.reference_device.open = [this]() -> Result<GpuReference*> { return &gpu; };
    auto judged = oracle_verdict(subject, inputs, output, options);
    if (!judged.ok()) return judged.trouble();
    prove(subject, inputs, output, judged->wanted, judged->verdict);
    const Status status = judged->verdict.status;
    if (!is_failure(status) && status != Status::kInfra) return Done{};
    return Trouble{TroubleKind::kInfra, "an exact output did not pass: " + judged->verdict.reason};
  }
};

std::string markdown(const CommonOptions& common, const std::string& device,
                     const std::vector<GpuReferenceSpeed>& speeds) {
  std::string text = fmt::format(
      "# Speed of the fp64 reference with its sums on {}\n\nMachine: {}. Command: `attest bench "
      "reference --device {}`. Median of {}; {} host threads. ms: from inputs on the host to what "
      "was asked for. Sums: the device's part without copies.\n\n| what | ms | KV tokens/s | sums, "
      "ms | KV tokens/s of the sums |\n|---|---:|---:|---:|---:|\n",
      device, machine_text(), common.device, kRepeats, common.threads);
  for (const GpuReferenceSpeed& s : speeds) {
    text += fmt::format("| `{}` | {:.2f} | {:.4g} M | {:.2f} | {:.4g} M |\n", s.what, s.ms,
                        s.kv_tokens / s.ms / 1000, s.busy_ms, s.kv_tokens / s.busy_ms / 1000);
  }
  return text;
}

std::string as_json(const CommonOptions& common, const std::vector<GpuReferenceSpeed>& speeds) {
  nlohmann::ordered_json json = {{"command", "bench reference"},
                                 {"machine", machine_text()},
                                 {"device", common.device},
                                 {"threads", common.threads},
                                 {"rows", nlohmann::ordered_json::array()}};
  for (const GpuReferenceSpeed& s : speeds) {
    json["rows"].push_back({{"what", s.what},
                            {"ms", s.ms},
                            {"tokens_per_s", s.kv_tokens / s.ms * 1000},
                            {"sums_ms", s.busy_ms},
                            {"sums_tokens_per_s", s.kv_tokens / s.busy_ms * 1000}});
  }
  return json.dump(2) + "\n";
}

}  // namespace

Result<std::vector<GpuReferenceSpeed>> bench_gpu_reference(GpuReference& gpu,
                                                           const std::string& token, int threads,
                                                           int repeats) {
  const Result<Case> c = known_case(token);
  if (!c.ok()) return c.trouble();
  const Kernel& kernel = *find_kernel(c->kernel);
  const Walk walk = walk_of(kernel, c->problem);
  const auto inputs = generate(*c, walk, threads);
  if (!inputs.ok()) return inputs.trouble();
  const Contract contract = kernel.contract(c->problem);
  const Subject subject{kernel.name(), c->problem, contract, walk.num_splits, {}};
  ReferenceOptions on_device{.threads = threads};
  on_device.device = &gpu;
  const auto exact = reference(c->problem, *inputs, contract, walk.num_splits, on_device);
  if (!exact.ok()) return exact.trouble();
  const Output output = exact_output(subject, *exact);
  const Bench bench{gpu, *c, *inputs, subject, output, threads};
  const std::pair<const char*, std::function<Outcome()>> works[] = {
      {"plain", [&] { return bench.reference_of(Detail::kPlain, false); }},
      {"T0", [&] { return bench.reference_of(Detail::kT0, false); }},
      {"T0, T2, T2p", [&] { return bench.reference_of(Detail::kAll, false); }},
      {"T0, T2, T2p, scores", [&] { return bench.reference_of(Detail::kAll, true); }},
      {"all that verify() does with an output", [&] { return bench.verdict(); }},
  };
  std::vector<GpuReferenceSpeed> speeds;
  for (const auto& [name, work] : works) {
    GpuReferenceSpeed speed{fmt::format("{}, {} splits: {}", token, walk.num_splits, name),
                            static_cast<double>(c->problem.total_kv())};
    if (Outcome timed = time_work(gpu, repeats, work, speed); !timed.ok()) return timed.trouble();
    speeds.push_back(speed);
  }
  return speeds;
}

int command_bench_gpu_reference(const CommonOptions& common, const std::string& markdown_path) {
  CommonOptions forced = common;
  forced.reference = "device";
  const ReferenceDevice keeper = reference_device(forced);
  const auto gpu = keeper.open();
  if (!gpu.ok()) return report_trouble(gpu.trouble());
  const bool is_small = common.device.starts_with("emu:");  // each instruction is emulated
  const std::vector<std::string> tokens =
      is_small ? std::vector<std::string>{"v1:k=mla_decode:s=600:page=64:splits=2"}
               : std::vector<std::string>{"v1:k=mla_decode:s=327600:page=64:splits=16",
                                          "v1:k=mla_decode:s=327600:page=64:splits=1",
                                          "v1:k=mla_decode:s=10237x32:page=64:splits=4"};
  std::vector<GpuReferenceSpeed> speeds;
  for (const std::string& token : tokens) {
    const auto of_token = bench_gpu_reference(**gpu, token, common.threads, kRepeats);
    if (!of_token.ok()) return report_trouble(of_token.trouble());
    speeds.insert(speeds.end(), of_token->begin(), of_token->end());
  }
  const std::string text = markdown(common, (*gpu)->name(), speeds);
  fmt::print("{}", common.json ? as_json(common, speeds) : text);
  return write_report(markdown_path, text);
}

}  // namespace attest

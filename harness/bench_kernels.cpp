#include "harness/bench_kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "harness/bench_kernels_instruments.hpp"
#include "harness/bench_kernels_sets.hpp"
#include "harness/bench_kernels_stages.hpp"
#include "harness/core/poison.hpp"
#include "harness/judge.hpp"
#include "harness/oracle_verdict.hpp"

namespace attest {
namespace {

Problem problem_of(const Kernel& kernel, const Device& device, const BenchPoint& point,
                   const KernelBenchOptions& options) {
  const auto b = static_cast<std::size_t>(point.b);
  Problem problem{.h_q = point.h_q,
                  .s_kv = std::vector<int>(b, point.s_kv),
                  .s_q = std::vector<int>(b, 1),
                  .page_size = options.page_size,
                  .num_splits = point.num_splits};
  if (problem.num_splits == 0 && device.processors() > 0) {
    problem.num_splits = kernel.num_splits_for(problem, device.processors());
  }
  return problem;
}

// One sequence of the batch, cut into as many splits as the batch's are.
Problem one_of(const Problem& batch, int num_splits) {
  Problem one = batch;
  one.s_kv.resize(1);
  one.s_q.resize(1);
  one.num_splits = num_splits;
  return one;
}

// By one sequence: what all of them may hold together is limited by what a host can generate.
std::string why_not(const Kernel& kernel, const Problem& batch) {
  std::string why = kernel.why_unsupported(one_of(batch, batch.num_splits));
  if (why.empty() && kernel.contract(batch).split_rule.dealt_tile != 0) {
    why = "its splits take tiles in turn: they cannot be judged one sequence at a time";
  }
  if (!why.empty() || kernel.can_be_captured()) return why;
  return "its launcher reads or writes memory from the host: no graph can be captured of it";
}

int sets_for(const Problem& problem, const KernelBenchOptions& options) {
  const std::int64_t of_set = InputSets::bytes_of_set(problem);
  return static_cast<int>(
      std::max<std::int64_t>(2, (options.distinct_bytes + of_set - 1) / of_set));
}

// Whole rounds of the sets, so that the next replay begins where this one did.
int launches_for(int sets, int least) { return (least + sets - 1) / sets * sets; }

// What is measured at one point.
struct Setup {
  const Kernel& kernel;
  Device& device;
  Module module;
  const Problem& problem;
  const InputSets& sets;
};

// How many launches the kernel is. What a runtime loads at first use is loaded before any capture.
Result<int> launch_once(const Setup& setup) {
  StageDevice counting(setup.device, StageDevice::kAll);
  const Outcome first =
      setup.kernel.launch(counting, setup.module, setup.problem, setup.sets.tensors(0));
  if (!first.ok()) return first.trouble();
  if (const Outcome ended = setup.device.synchronize(); !ended.ok()) return ended.trouble();
  return counting.launches();
}

// Times of a graph of so many launches, of one stage of each or of all.
Result<Times> time_graph(const Setup& setup, int stage, int launches,
                         const KernelBenchOptions& options) {
  if (const Outcome begun = setup.device.begin_capture(); !begun.ok()) return begun.trouble();
  StageDevice device(setup.device, stage);
  Outcome launched = Done{};
  for (int i = 0; i < launches && launched.ok(); ++i) {
    device.begin_kernel();
    launched = setup.kernel.launch(device, setup.module, setup.problem,
                                   setup.sets.tensors(i % setup.sets.count()));
  }
  const auto graph = setup.device.end_capture();
  if (!launched.ok()) return launched.trouble();
  if (!graph.ok()) return graph.trouble();
  return time_work(setup.device, options.warm_ups, options.timings,
                   [&] { return setup.device.replay(*graph); });
}

// One sequence of the last launch, whose partial results are those that are still there; all
// launches by whether they wrote anything.
Result<Verdict> judge_last(const Kernel& kernel, Device& device, const Problem& batch,
                           InputSets& sets, int num_splits, const VerifyOptions& options) {
  const int set = sets.count() - 1, sequence = batch.b() / 2;
  const Problem one = one_of(batch, num_splits);
  const Contract contract = contract_on(kernel, device, batch);
  const auto inputs = sets.inputs_of(one, set, sequence);
  if (!inputs.ok()) return inputs.trouble();
  const Output output =
      sets.output_of(one, num_splits, contract.arithmetic.bf16_partials, set, sequence);
  const Subject subject{kernel.name(), one, contract, num_splits, {}};
  auto judged = oracle_verdict(subject, *inputs, output, options);
  if (!judged.ok()) return judged.trouble();
  Verdict verdict = std::move(judged->verdict);
  Output zeros = output;
  std::fill(zeros.o.begin(), zeros.o.end(), std::uint16_t{0});
  const bool passed = verdict.status == Status::kPassed;
  if (passed && judge(subject, zeros, judged->wanted).status == Status::kPassed) {
    verdict.status = Status::kVacuous;
    verdict.reason = "an o of zeros would pass too";
  }
  if (const std::string what = sets.not_finite(); !what.empty()) {
    verdict.status = Status::kFailed;
    verdict.reason = what;
  }
  return verdict;
}

void add_speed(const Times& times, const Problem& problem, KernelSpeed& speed) {
  const double to_us = 1000.0 / speed.launches;
  speed.us = times.median_ms * to_us;
  speed.us_least = times.least_ms * to_us;
  speed.us_most = times.most_ms * to_us;
  speed.gb_per_s = static_cast<double>(InputSets::bytes_of_set(problem)) / speed.us * 1e-3;
  const double flops = 2.0 * static_cast<double>(problem.total_kv()) * problem.h_q * (kDQk + kDV);
  speed.tflops = flops / speed.us * 1e-6;
}

}  // namespace

KernelBenchOptions bench_options_for(const Device& device) {
  if (device.is_emulated()) return {.read_bytes = 1 << 20, .timings = 2, .warm_ups = 1};
  return {.distinct_bytes = std::int64_t{256} << 20,
          .read_bytes = std::int64_t{4} << 30,
          .launches = 10};
}

Result<KernelSpeed> bench_kernel(const Kernel& kernel, Device& device, const BenchPoint& point,
                                 const KernelBenchOptions& options) {
  const Problem problem = problem_of(kernel, device, point, options);
  if (const std::string why = why_not(kernel, problem); !why.empty()) {
    return Trouble{TroubleKind::kUsage, fmt::format("{} does not take it: {}", kernel.name(), why)};
  }
  const auto module =
      device.load_module(options.code_objects + "/" + kernel.code_object(device.target()));
  if (!module.ok()) return module.trouble();
  Bench bench(device, kPoison16);
  InputSets sets(bench, device, options.code_objects, kernel, problem, sets_for(problem, options));
  if (bench.failed()) return bench.trouble();

  KernelSpeed speed{.point = point,
                    .num_splits = kernel.num_splits(problem),
                    .sets = sets.count(),
                    .launches = launches_for(sets.count(), options.launches)};
  const Setup setup{kernel, device, *module, problem, sets};
  const auto stages = launch_once(setup);
  if (!stages.ok()) return stages.trouble();
  const auto times = time_graph(setup, StageDevice::kAll, speed.launches, options);
  if (!times.ok()) return times.trouble();
  add_speed(*times, problem, speed);
  const auto verdict =
      judge_last(kernel, device, problem, sets, speed.num_splits,
                 {.code_objects = options.code_objects, .threads = options.threads});
  if (!verdict.ok()) return verdict.trouble();
  speed.verdict = *verdict;
  for (int stage = 0; *stages > 1 && stage < *stages; ++stage) {
    const auto alone = time_graph(setup, stage, speed.launches, options);
    if (!alone.ok()) return alone.trouble();
    speed.stage_us.push_back(alone->median_ms * 1000 / speed.launches);
  }
  return speed;
}

}  // namespace attest

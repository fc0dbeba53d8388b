#include <fmt/format.h>

#include "harness/core/poison.hpp"
#include "harness/core/random.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/stress_bits.hpp"
#include "harness/stress_disturb.hpp"
#include "harness/stress_parts.hpp"

namespace attest {
namespace {

// Of launch 2 and later, where the device can choose.
Schedule schedule_of(const Case& c, int launch) {
  constexpr ScheduleKind kKinds[] = {ScheduleKind::kSeeded, ScheduleKind::kInterleaved,
                                     ScheduleKind::kDelayed};
  const Stream stream = stream_of(c.seed, Tensor::kPlan, -3, launch);
  return {stream.bits(0) % 1'000'000, kKinds[stream.bits(1) % std::size(kKinds)]};
}

class Launches {
 public:
  Launches(const Kernel& kernel, Device& device, const Case& c, const Inputs& inputs,
           const StressOptions& options)
      : kernel_(kernel),
        device_(device),
        case_(c),
        inputs_(inputs),
        options_(options),
        contract_(contract_on(kernel, device, c.problem)),
        subject_{kernel.name(), c.problem, contract_, kernel.num_splits(c.problem)},
        launcher_(kernel.fresh()),
        session_(*launcher_, device, kPoison16),
        disturber_(device, c.seed) {
    options_.verify.at_stage = {};
  }

  Verdict run() {
    session_.open(options_.verify.code_objects, {&inputs_}, output_sizes(kernel_, case_.problem));
    session_.write(inputs_);
    device_.set_schedule(case_.schedule);
    session_.launch(case_.problem);
    Verdict all = judge_what_is_there(1);
    if (!goes_on(all)) return all;
    disturber_.open(options_.tools);
    if (disturber_.failed()) return verdict_of(disturber_.trouble(), "the disturbing kernels");
    for (int launch = 2; launch <= options_.count; ++launch) {
      Verdict verdict = repeat(launch);
      if (goes_on(verdict)) continue;
      if (kept_.is_broken()) break;  // that comes first
      return verdict;
    }
    if (kept_.is_broken()) return kept_.verdict();
    Verdict last = judge_what_is_there(options_.count);  // and that no input changed
    if (!goes_on(last)) return last;
    all.checked += kept_.elements();
    all.remarks.push_back(fmt::format("{} launches", options_.count));
    return all;
  }

 private:
  Verdict judge_what_is_there(int launch) {
    auto output = session_.collect(case_.problem, inputs_);
    Verdict verdict = output.ok()
                          ? judged(kernel_, device_, case_, inputs_, *output, options_.verify)
                          : verdict_of(output.trouble(), kernel_.name());
    if (!goes_on(verdict)) say_where(place_of(launch), "", verdict);
    if (output.ok() && launch == 1) first_ = std::move(*output);
    return verdict;
  }

  Verdict repeat(int launch) {
    session_.poison_outputs();
    schedule_ = schedule_of(case_, launch);
    device_.set_schedule(schedule_);
    disturber_.disturb(launch);
    if (disturber_.failed()) return verdict_of(disturber_.trouble(), "the disturbing kernels");
    session_.launch(case_.problem);
    const Output output = session_.read(case_.problem);
    if (session_.failed()) {
      Verdict verdict = verdict_of(session_.trouble(), kernel_.name());
      say_where(place_of(launch), "", verdict);
      return verdict;
    }
    kept_.looked_at(elements_of(output));
    look_at(launch, output);
    return passed();
  }

  // Of a launch that is not as the first, the verdict is kept.
  void look_at(int launch, const Output& output) {
    if (!contract_.run_to_run_bitwise) {
      Verdict verdict = judge_what_is_there(launch);
      if (!goes_on(verdict)) kept_.broken(std::move(verdict));
      return;
    }
    const auto difference = bit_difference(subject_, output, first_);
    if (!difference) return;
    if (kept_.is_broken()) return kept_.broken_again();
    Verdict verdict =
        verdict_of_difference(subject_, inputs_, output, *difference, "repeat", options_.verify);
    say_where(place_of(launch), "", verdict);
    kept_.broken(std::move(verdict));
  }

  std::string place_of(int launch) const {
    std::string text = fmt::format("launch {} of {}", launch, options_.count);
    if (device_.is_emulated() && launch > 1) text += " under schedule " + to_string(schedule_);
    return text;
  }

  const Kernel& kernel_;
  Device& device_;
  const Case& case_;
  const Inputs& inputs_;
  StressOptions options_;
  const Contract contract_;
  const Subject subject_;
  std::unique_ptr<Kernel> launcher_;
  Session session_;
  Disturber disturber_;  // after the session: it goes first
  Output first_;
  Schedule schedule_;
  Kept kept_{"launches"};
};

}  // namespace

Verdict stress_repeat(const Kernel& kernel, Device& device, const Case& c,
                      const StressOptions& options) {
  Verdict verdict = verdict_of_support(kernel, c, false);
  if (verdict.status == Status::kSkipped) return verdict;
  const auto inputs = generate(c, walk_of(kernel, c.problem), options.verify.threads);
  if (!inputs.ok()) return verdict_of(inputs.trouble(), kernel.name());
  verdict = Launches(kernel, device, c, *inputs, options).run();
  device.set_schedule(c.schedule);
  return verdict;
}

}  // namespace attest

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "fuzz/trajectories/steps.hpp"
#include "harness/core/poison.hpp"
#include "harness/execute.hpp"
#include "harness/generate.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/stress_bits.hpp"
#include "harness/stress_parts.hpp"
#include "harness/stress_steps.hpp"
#include "harness/sum_of_verdicts.hpp"

namespace attest {
namespace {

constexpr int kMostSteps = 16;

struct Step {
  Case c;
  Inputs inputs;
  Output expected;  // of a launch without a graph, in fresh memory, judged
  bool was_replayed = false;
};

// A stream with a graph, and memory that nothing else of the case uses.
struct Lane {
  Lane(const Kernel& kernel, Device& device, int stream)
      : session(kernel, device, kPoison16), stream(stream) {}
  Session session;
  int stream;
  Graph graph;
  std::size_t step = 0, step_before = 0;
};

// Later calls go to another stream; in the end to the first again.
class OnStream {
 public:
  OnStream(Device& device, int stream) : device_(device) { device.use_stream(stream); }
  ~OnStream() { device_.use_stream(0); }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;

 private:
  Device& device_;
};

class Replays {
 public:
  Replays(const Kernel& kernel, Device& device, const Case& c, const StressOptions& options)
      : kernel_(kernel),
        device_(device),
        case_(c),
        options_(options),
        launcher_(kernel.fresh()),
        lanes_{Lane(*launcher_, device, 0), Lane(*launcher_, device, 1)} {
    options_.verify.at_stage = {};
  }

  Verdict run() {
    Verdict all = passed();
    device_.set_schedule(case_.schedule);
    if (Verdict verdict = prepare(all); !goes_on(verdict)) return verdict;
    if (Verdict verdict = capture(); !goes_on(verdict)) return verdict;
    for (int round = 0; round < options_.count; ++round) {
      Verdict verdict = replay(round, all);
      if (goes_on(verdict)) continue;
      if (kept_.is_broken()) break;  // that comes first
      return verdict;
    }
    if (kept_.is_broken()) return kept_.verdict();
    all.checked += kept_.elements();
    all.remarks.push_back(fmt::format("{} replays on each of {} streams, over {} steps",
                                      options_.count, lanes_.size(), steps_.size()));
    return all;
  }

 private:
  // Launches each step once, in memory of its own. This ends before the lanes have any: what ends
  // releases all of a device.
  Verdict prepare(Verdict& all) {
    const int count = std::clamp(options_.count / 4, 2, kMostSteps);
    for (Case& c : replay_steps(kernel_, case_, count)) {
      auto inputs = generate(c, walk_of(kernel_, c.problem), options_.verify.threads);
      if (!inputs.ok()) return verdict_of(inputs.trouble(), kernel_.name());
      auto output = execute(*kernel_.fresh(), device_, options_.verify.code_objects, c, *inputs);
      Verdict verdict = output.ok() ? judged(kernel_, device_, c, *inputs, *output, options_.verify)
                                    : verdict_of(output.trouble(), kernel_.name());
      if (!goes_on(verdict)) {
        say_where(fmt::format("before any graph, a launch of step {} of {} (attest repro {})",
                              steps_.size() + 1, count, to_token(c)),
                  "", verdict);
        return verdict;
      }
      add_to(all, verdict);
      steps_.push_back({std::move(c), std::move(*inputs), std::move(*output)});
    }
    const bool tells = std::any_of(steps_.begin(), steps_.end(), [&](const Step& step) {
      return step.expected.o != steps_[0].expected.o;
    });
    if (!tells) {
      all.status = Status::kVacuous;
      all.reason = fmt::format(
          "{}: every step has the same answer, so that a graph that keeps one would pass; give "
          "the case tokens",
          kernel_.name());
    }
    return all;
  }

  Verdict capture() {
    const Problem& problem = steps_[0].c.problem;
    const OutputSizes sizes = output_sizes(kernel_, problem);
    temporaries_.emplace(device_, case_.seed,
                         std::vector<std::size_t>{sizes.o, sizes.lse, sizes.partial_o,
                                                  sizes.partial_lse, steps_[0].inputs.q.size(),
                                                  steps_[0].inputs.kv_indptr.size() * 4, 4096});
    for (Lane& lane : lanes_) {
      Verdict verdict = capture(lane, sizes);
      if (!goes_on(verdict)) return verdict;
    }
    return passed();
  }

  // The first graph with all lengths at their largest, the second with those of a serving engine
  // that captures before any request is there: one token a sequence.
  Verdict capture(Lane& lane, const OutputSizes& sizes) {
    const Step& largest = steps_[0];
    Case c = largest.c;
    if (lane.stream == 1) std::fill(c.problem.s_kv.begin(), c.problem.s_kv.end(), 1);
    const auto inputs = generate(c, walk_of(kernel_, c.problem), options_.verify.threads);
    if (!inputs.ok()) return verdict_of(inputs.trouble(), kernel_.name());
    const OnStream on(device_, lane.stream);
    lane.session.open(options_.verify.code_objects, {&largest.inputs, &*inputs}, sizes);
    lane.session.write(*inputs);
    if (Outcome taken = temporaries_->turn(); !taken.ok()) {
      return verdict_of(taken.trouble(), kernel_.name());
    }
    lane.graph = lane.session.capture(c.problem);
    if (!lane.session.failed()) return passed();
    Verdict verdict = verdict_of(lane.session.trouble(), kernel_.name());
    say_where(fmt::format("capture on stream {}", lane.stream), "", verdict);
    return verdict;
  }

  // One of each lane, at the same time.
  Verdict replay(int round, Verdict& all) {
    for (Lane& lane : lanes_) {
      lane.step_before = lane.step;
      lane.step = step_of(case_, lane.stream, round, steps_.size());
      lane.session.write(steps_[lane.step].inputs);
      lane.session.poison_outputs();
    }
    Outcome outcome = temporaries_->turn();
    auto& [first, second] = lanes_;
    if (outcome.ok() && !second.session.failed()) {
      const OnStream on(device_, second.stream);
      outcome = device_.replay(second.graph);
    }
    first.session.replay(first.graph, steps_[first.step].c.problem);  // and waits for both
    if (!outcome.ok()) return trouble_at(round, second, outcome.trouble());
    for (Lane& lane : lanes_) {
      Verdict verdict = look_at(round, lane, all);
      if (!goes_on(verdict)) return verdict;
    }
    return all;
  }

  // What the replay left. A wrong one is noted; the others are looked at as well.
  Verdict look_at(int round, Lane& lane, Verdict& all) {
    Step& step = steps_[lane.step];
    auto output = lane.session.collect(step.c.problem, step.inputs);
    if (!output.ok()) return trouble_at(round, lane, output.trouble());
    const Contract contract = contract_on(kernel_, device_, step.c.problem);
    const Subject subject{kernel_.name(), step.c.problem, contract,
                          kernel_.num_splits(step.c.problem)};
    // A launch of other lengths may be of another shape than the captured one.
    const bool owes_bits =
        contract.run_to_run_bitwise && contract.layout_invariant && contract.batch_invariant;
    const auto difference =
        owes_bits ? bit_difference(subject, *output, step.expected) : std::nullopt;
    kept_.looked_at(elements_of(*output));
    if (difference && kept_.is_broken()) {
      kept_.broken_again();
      return all;
    }
    Verdict verdict = all;
    if (difference) {
      verdict = verdict_of_difference(subject, step.inputs, *output, *difference, "launch",
                                      options_.verify);
      const Output& before = steps_[lane.step_before].expected;
      if (lane.step != lane.step_before && output->o == before.o && output->lse == before.lse) {
        verdict.reason += "; o and lse are those of the replay before";
      }
    } else if (!step.was_replayed || !owes_bits || !output->damage.empty()) {
      verdict = judged(kernel_, device_, step.c, step.inputs, *output, options_.verify);
      step.was_replayed = true;
      if (goes_on(verdict)) add_to(all, verdict);
    }
    if (!goes_on(verdict)) {
      say_where(place_of(round, lane), "replay-", verdict);
      kept_.broken(std::move(verdict));
    }
    return all;
  }

  std::string place_of(int round, const Lane& lane) const {
    return fmt::format("replay {} of {} on stream {}{}, of step {} of {} ({})", round + 1,
                       options_.count, lane.stream,
                       lane.stream == 1 ? ", captured with lengths of 1" : "", lane.step + 1,
                       steps_.size(), to_token(steps_[lane.step].c));
  }
  Verdict trouble_at(int round, const Lane& lane, const Trouble& trouble) const {
    Verdict verdict = verdict_of(trouble, kernel_.name());
    say_where(place_of(round, lane), "replay-", verdict);
    return verdict;
  }

  const Kernel& kernel_;
  Device& device_;
  const Case& case_;
  StressOptions options_;
  std::vector<Step> steps_;
  std::unique_ptr<Kernel> launcher_;  // of both graphs, as in one process
  std::array<Lane, 2> lanes_;
  std::optional<Temporaries> temporaries_;  // after the lanes: they go first
  Kept kept_{"replays"};
};

// A case with steps that fails as well, which `attest repro` takes; empty: none of those tried.
std::string failing_trajectory(const Kernel& kernel, Device& device, const Case& c,
                               const VerifyOptions& options) {
  Case trajectory = c;
  trajectory.problem.num_splits = kernel.num_splits(c.problem);
  const int longest = *std::max_element(c.problem.s_kv.begin(), c.problem.s_kv.end());
  for (const std::string& steps :
       {std::string("capture.replay"), fmt::format("capture.finish0.add{}.replay", longest),
        std::string("capture.replay20")}) {
    trajectory.steps = steps;
    if (!why_invalid_steps(trajectory).empty()) continue;
    if (is_failure(verify(kernel, device, trajectory, options).status)) return to_token(trajectory);
  }
  return {};
}

}  // namespace

Verdict stress_replay(const Kernel& kernel, Device& device, const Case& c,
                      const StressOptions& options) {
  Verdict verdict = verdict_of_support(kernel, c, true);
  if (verdict.status == Status::kSkipped) return verdict;
  verdict = Replays(kernel, device, c, options).run();
  if (verdict.status == Status::kFailed && verdict.bucket.starts_with("replay-")) {
    const std::string token = failing_trajectory(kernel, device, c, options.verify);
    if (!token.empty()) verdict.reason += "\n`attest repro` shows it too: " + token;
  }
  return verdict;
}

}  // namespace attest

#include "harness/trajectory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "harness/bucket.hpp"
#include "harness/core/check.hpp"
#include "harness/core/poison.hpp"
#include "harness/oracle_verdict.hpp"
#include "harness/serving_memory.hpp"
#include "harness/session.hpp"
#include "harness/stale.hpp"
#include "harness/sum_of_verdicts.hpp"

namespace attest {
namespace {

// "step 7 of 12, replay 43 of 100".
std::string place_of(const Move& move, const std::vector<Step>& commands) {
  std::string text = fmt::format("step {} of {}, {}", move.command + 1, commands.size(),
                                 to_text({{move.step.verb, move.step.a, move.step.b}}));
  if (move.rounds > 1) text += fmt::format(" {} of {}", move.round + 1, move.rounds);
  return text;
}

void say_where(const Move& move, const std::vector<Step>& commands, Verdict& verdict) {
  verdict.reason = place_of(move, commands) + ": " + verdict.reason;
  if (move.step.verb == Verb::kReplay && !verdict.bucket.empty()) {
    verdict.bucket = "replay-" + verdict.bucket;
  }
}

void set_kind(std::string_view kind, Verdict& verdict) {
  auto bucket = parse_bucket(verdict.bucket);
  ATTEST_CHECK(bucket.ok());
  bucket->kind = kind;
  verdict.bucket = to_string(*bucket);
}

class Trajectory {
 public:
  Trajectory(const Kernel& kernel, Device& device, const Case& c, const VerifyOptions& options)
      : kernel_(kernel),
        device_(device),
        case_(c),
        options_(options),
        batch_(c.problem),
        session_(kernel, device, kPoison16) {
    options_.at_stage = {};  // all launches are one stage
  }

  Verdict run(const std::vector<Move>& moves, const std::vector<Step>& commands,
              ServingMemory memory) {
    memory_ = std::move(memory);
    session_.open(options_.code_objects, {&memory_.inputs()}, largest_outputs(moves));
    device_.set_schedule(case_.schedule);
    Verdict all;
    all.status = Status::kPassed;
    for (const Move& move : moves) {
      batch_.apply(move.step);
      memory_.write_new_tokens(kernel_, batch_);
      Verdict verdict = go_through(move.step.verb);
      if (verdict.status != Status::kPassed) say_where(move, commands, verdict);
      const bool goes_on = verdict.status == Status::kPassed ||
                           verdict.status == Status::kSuspect || verdict.status == Status::kVacuous;
      if (!goes_on) return verdict;
      add_to(all, verdict);
    }
    if (launches_ == 0) {
      all.status = Status::kVacuous;
      all.reason = fmt::format("{}: nothing was launched; add launch or replay", kernel_.name());
    }
    return all;
  }

 private:
  OutputSizes largest_outputs(const std::vector<Move>& moves) const {
    OutputSizes sizes;
    ServingBatch batch(case_.problem);
    for (const Move& move : moves) {
      batch.apply(move.step);
      if (move.step.verb == Verb::kLaunch || move.step.verb == Verb::kCapture) {
        sizes = larger_of(sizes, output_sizes(kernel_, batch.problem()));
      } else if (move.step.verb == Verb::kReplay) {
        sizes = larger_of(sizes, output_sizes(kernel_, replayed(batch)));
      }
    }
    return sizes;
  }

  // With the split count that the launcher chose for what was captured.
  Problem replayed(const ServingBatch& batch) const {
    Problem problem = batch.replayed_problem();
    problem.num_splits = kernel_.num_splits(*batch.captured());
    return problem;
  }

  Verdict go_through(Verb verb) {
    Verdict nothing;
    nothing.status = Status::kPassed;
    if (verb == Verb::kDirty) dirty_ = true;
    if (verb != Verb::kLaunch && verb != Verb::kCapture && verb != Verb::kReplay) return nothing;
    const Problem problem = verb == Verb::kReplay ? replayed(batch_) : batch_.problem();
    if (const std::string why = kernel_.why_unsupported(problem); !why.empty()) {
      nothing.status = Status::kSkipped;
      nothing.reason = fmt::format("{} does not take it: {}", kernel_.name(), why);
      return nothing;
    }
    memory_.write_batch(kernel_, batch_, problem, steps_++);
    session_.write(memory_.inputs());
    if (verb != Verb::kCapture) return launch(verb, problem);
    graph_ = session_.capture(problem);
    return session_.failed() ? verdict_of(session_.trouble(), kernel_.name()) : nothing;
  }

  Verdict launch(Verb verb, const Problem& problem) {
    ++launches_;
    std::optional<Output> before;
    if (dirty_) {
      before = session_.read(problem);
      session_.leave_outputs();
    } else {
      session_.poison_outputs();
    }
    dirty_ = false;
    verb == Verb::kReplay ? session_.replay(graph_, problem) : session_.launch(problem);
    auto output = session_.collect(problem, memory_.inputs());
    if (!output.ok()) return verdict_of(output.trouble(), kernel_.name());
    Verdict verdict = judged(problem, before, *output);
    previous_ = std::move(*output);
    return verdict;
  }

  Verdict judged(const Problem& problem, const std::optional<Output>& before, Output& output) {
    const Contract contract = contract_on(kernel_, device_, problem);
    const Subject subject{kernel_.name(), problem, contract, kernel_.num_splits(problem)};
    if (before) poison_unwritten(subject, *before, output);
    auto judged = oracle_verdict(subject, memory_.inputs(), output, options_);
    if (!judged.ok()) return verdict_of(judged.trouble(), kernel_.name());
    Verdict& verdict = judged->verdict;
    if (verdict.status == Status::kFailed && verdict.wrong > 0 && output.damage.empty() &&
        is_stale(subject, output, previous_, judged->wanted)) {
      set_kind("stale", verdict);
      verdict.reason +=
          "; wherever o and lse are wrong, they are what the launch before left there";
    }
    return std::move(verdict);
  }

  const Kernel& kernel_;
  Device& device_;
  const Case& case_;
  VerifyOptions options_;
  ServingBatch batch_;
  ServingMemory memory_;
  Session session_;
  Graph graph_;
  Output previous_;
  bool dirty_ = false;
  int steps_ = 0, launches_ = 0;
};

}  // namespace

Verdict verify_trajectory(const Kernel& kernel, Device& device, const Case& c,
                          const VerifyOptions& options) {
  const auto moves = moves_of(c);
  if (!moves.ok()) return verdict_of(moves.trouble(), kernel.name());
  if (options.at_stage) options.at_stage("generate");
  auto memory = ServingMemory::make(c, *moves);
  if (!memory.ok()) return verdict_of(memory.trouble(), kernel.name());
  if (options.at_stage) options.at_stage("execute");
  return Trajectory(kernel, device, c, options)
      .run(*moves, *parse_steps(c.steps), std::move(*memory));
}

}  // namespace attest

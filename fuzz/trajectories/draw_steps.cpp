// Steps by RapidCheck: a state machine whose model is a ServingBatch. What it shrinks to is not
// used: shorter_steps() keeps the reason of a failure.
#include <rapidcheck.h>
#include <rapidcheck/state.h>

#include <algorithm>

#include "fuzz/trajectories/steps.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

struct Nothing {};  // what runs the steps is not RapidCheck's

class StepCommand final : public rc::state::Command<ServingBatch, Nothing> {
 public:
  explicit StepCommand(const Step& step) : step(step) {}
  void checkPreconditions(const ServingBatch& batch) const override {
    RC_PRE(batch.why_not(step).empty());
  }
  void apply(ServingBatch& batch) const override {
    const bool many = step.verb == Verb::kReplay && step.a > 1;
    for (int round = 0; many && round < step.a; ++round) {
      for (const Step& change : batch.changes_before(round)) batch.apply(change);
    }
    batch.apply(step);
  }
  void show(std::ostream& os) const override { os << to_text({step}); }
  const Step step;
};

using Command = rc::state::Command<ServingBatch, Nothing>;
using CommandPointer = std::shared_ptr<const Command>;

// What a trajectory of a fraction of a second holds.
constexpr int kMostRequests = 6, kMostTokens = 700, kLongest = 260, kMostHeads = 16;
constexpr int kMostQueryTokens = 3, kMostSplits = 8, kMostSlack = 64, kMostPad = 64;
constexpr int kMostCommands = 13;
constexpr std::size_t kFewestCommands = 5;

// Lengths at the edges of tiles, pages and splits, and in between.
rc::Gen<int> length() {
  return rc::gen::weightedOneOf<int>(
      {{3, rc::gen::element(0, 1, 15, 16, 17, 63, 64, 65, 127, 128, 129, 192, 193)},
       {2, rc::gen::inRange(1, 200)}});
}

rc::Gen<Step> step_of(Verb verb, rc::Gen<int> a, rc::Gen<int> b) {
  return rc::gen::apply(
      [verb](int a, int b) {
        return Step{verb, a, b};
      },
      std::move(a), std::move(b));
}

// To the end of the last page and one beyond, often; or by what a query of several tokens adds.
rc::Gen<Step> growth(const ServingBatch& batch, int page_size) {
  const auto count = static_cast<int>(batch.requests().size());
  return rc::gen::mapcat(rc::gen::inRange(0, count), [=](int request) {
    const int s_kv = batch.requests()[request].s_kv;
    const int to_edge = page_size - s_kv % page_size;
    return step_of(Verb::kGrow, rc::gen::just(request),
                   rc::gen::weightedOneOf<int>({{4, rc::gen::just(1)},
                                                {2, rc::gen::just(to_edge)},
                                                {2, rc::gen::just(to_edge + 1)},
                                                {2, rc::gen::inRange(1, 9)},
                                                {1, rc::gen::just(65)}}));
  });
}

// Each generator as often as it weighs.
class Choices {
 public:
  void add(int weight, const rc::Gen<Step>& gen) { gens_.insert(gens_.end(), weight, gen); }
  rc::Gen<Step> any() const { return rc::gen::join(rc::gen::elementOf(gens_)); }

 private:
  std::vector<rc::Gen<Step>> gens_;
};

int tokens_of(const ServingBatch& batch) {
  int tokens = 0;
  for (const Request& request : batch.requests()) tokens += request.s_kv;
  return tokens;
}

// Never a step that the model refuses for want of requests, rows or a graph.
rc::Gen<Step> next_step(const ServingBatch& batch, const Problem& beginning) {
  const auto none = rc::gen::just(0);
  const auto count = static_cast<int>(batch.requests().size());
  const bool has_room = tokens_of(batch) < kMostTokens;
  Choices choices;
  choices.add(1, step_of(Verb::kPad, rc::gen::element(0, count, count + 1, 4, 8), none));
  choices.add(2, step_of(Verb::kSplits, rc::gen::element(1, 2, 3, 4, 8), none));
  choices.add(3, rc::gen::just(Step{Verb::kDirty}));
  if (count < kMostRequests && has_room) {
    choices.add(4, step_of(Verb::kAdd, length(), rc::gen::element(0, 0, 0, 1)));
  }
  if (count > 0) choices.add(2, step_of(Verb::kFinish, rc::gen::inRange(0, count), none));
  if (count > 0 && has_room) choices.add(5, growth(batch, beginning.page_size));
  if (batch.why_not({Verb::kLaunch}).empty()) {
    choices.add(4, rc::gen::just(Step{Verb::kLaunch}));
    choices.add(batch.captured() ? 1 : 4, rc::gen::just(Step{Verb::kCapture}));
  }
  if (batch.can_replay()) {
    choices.add(6, rc::gen::just(Step{Verb::kReplay, 1}));
    choices.add(1, step_of(Verb::kReplay, rc::gen::inRange(2, 5), none));
  }
  return choices.any();
}

rc::Gen<CommandPointer> next_command(const ServingBatch& batch, const Problem& beginning) {
  // At a fixed size: what RapidCheck calls size is here the number of commands.
  return rc::gen::resize(rc::kNominalSize,
                         rc::gen::map(next_step(batch, beginning), [](const Step& step) {
                           return CommandPointer(std::make_shared<StepCommand>(step));
                         }));
}

}  // namespace

std::string draw_steps(std::uint64_t seed, const Problem& beginning) {
  const auto commands = rc::state::gen::commands(
      ServingBatch(beginning),
      [&](const ServingBatch& batch) { return next_command(batch, beginning); });
  rc::Random random(seed);
  std::vector<Step> steps;
  while (steps.size() < kFewestCommands) {
    steps.clear();
    for (const CommandPointer& command : commands(random.split(), kMostCommands).value()) {
      steps.push_back(static_cast<const StepCommand&>(*command).step);
    }
  }
  ServingBatch batch(beginning);
  for (const Step& step : steps) StepCommand(step).apply(batch);
  // What the last steps changed is looked at.
  if (!runs(steps.back().verb)) {
    if (!batch.can_replay() && !batch.why_not({Verb::kLaunch}).empty()) {
      steps.push_back({Verb::kPad, 1});
    }
    steps.push_back(batch.can_replay() ? Step{Verb::kReplay, 1} : Step{Verb::kLaunch});
  }
  return to_text(steps);
}

Case draw_trajectory(std::uint64_t seed, Case c) {
  Problem& p = c.problem;
  const Stream stream{mix64(seed ^ kGolden)};
  p.h_q = (p.h_q - 1) % kMostHeads + 1;
  p.s_kv.resize(std::min<std::size_t>(p.s_kv.size(), kMostRequests / 2));
  p.s_q.resize(p.s_kv.size());
  for (int& s_kv : p.s_kv) s_kv %= kLongest;
  for (int& s_q : p.s_q) s_q = (s_q - 1) % kMostQueryTokens + 1;
  p.num_splits = p.num_splits % kMostSplits + 1;
  p.shared_prefix = 0;
  p.page_base = 0;
  p.kv_indptr_start = std::min(p.kv_indptr_start, kMostSlack);
  p.q_pad = std::min(p.q_pad, kMostPad);
  p.o_pad = std::min(p.o_pad, kMostPad);
  c.property = kOracle;
  c.steps = draw_steps(stream.bits(0), p);
  return c;
}

}  // namespace attest

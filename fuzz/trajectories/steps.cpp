#include "fuzz/trajectories/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace attest {
namespace {

struct Word {
  Verb verb;
  std::string_view name;
  int fewest, most;  // numbers behind it
};

constexpr Word kWords[] = {
    {Verb::kAdd, "add", 1, 2},       {Verb::kGrow, "grow", 2, 2},
    {Verb::kFinish, "finish", 1, 1}, {Verb::kPad, "pad", 1, 1},
    {Verb::kSplits, "splits", 1, 1}, {Verb::kDirty, "dirty", 0, 0},
    {Verb::kLaunch, "launch", 0, 0}, {Verb::kCapture, "capture", 0, 0},
    {Verb::kReplay, "replay", 0, 1},
};

// How many of the step's numbers are printed: those that are the default are left out.
int numbers_of(const Word& word, const Step& step) {
  if (word.fewest == word.most) return word.most;
  const bool is_default = word.verb == Verb::kAdd ? step.b == 0 : step.a == 1;
  return is_default ? word.fewest : word.most;
}

std::string text_of(const Step& step) {
  const auto* const word = std::find_if(std::begin(kWords), std::end(kWords),
                                        [&](const Word& w) { return w.verb == step.verb; });
  const int numbers = numbers_of(*word, step);
  std::string text{word->name};
  if (numbers > 0) text += std::to_string(step.a);
  if (numbers > 1) text += fmt::format(",{}", step.b);
  return text;
}

// Whether all of `text` is up to two numbers; they are taken into `step`.
bool take_numbers(std::string_view text, Step& step, int& count) {
  const char *at = text.data(), *const end = at + text.size();
  for (count = 0; at != end && count < 2; ++count) {
    if (count > 0 && *at++ != ',') return false;
    const auto [next, error] = std::from_chars(at, end, count == 0 ? step.a : step.b);
    if (error != std::errc{} || (count == 0 ? step.a : step.b) < 0) return false;
    at = next;
  }
  return at == end;
}

std::string all_words() {
  std::string text;
  for (const Word& word : kWords) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", word.name);
  }
  return text;
}

Trouble usage(std::string text) { return {TroubleKind::kUsage, "steps: " + std::move(text)}; }

Result<Step> parse_step(std::string_view text) {
  const std::size_t letters =
      std::min(text.size(), text.find_first_not_of("abcdefghijklmnopqrstuvwxyz"));
  const std::string_view name = text.substr(0, letters);
  const auto* const word = std::find_if(std::begin(kWords), std::end(kWords),
                                        [&](const Word& w) { return w.name == name; });
  if (word == std::end(kWords)) {
    return usage(fmt::format("'{}' is no command; there are: {}", text, all_words()));
  }
  Step step{word->verb, word->verb == Verb::kReplay ? 1 : 0, 0};
  int count = 0;
  if (!take_numbers(text.substr(letters), step, count) || count < word->fewest ||
      count > word->most) {
    return usage(fmt::format("'{}': {} takes {}{} numbers of 0 or more, joined by ','", text, name,
                             word->fewest == word->most ? "" : fmt::format("{} or ", word->fewest),
                             word->most));
  }
  if (text_of(step) != text) {
    return usage(fmt::format("'{}' is written '{}'", text, text_of(step)));
  }
  return step;
}

// What a trajectory cannot begin with.
std::string why_no_beginning(const Case& c) {
  if (c.property != kOracle) return "steps are judged by the oracle; leave out prop=";
  if (c.problem.shared_prefix != 0) return "a trajectory shares no prefix; leave out prefix=";
  if (c.problem.page_base != 0) return "a trajectory has a pool of its own; leave out base=";
  if (c.problem.b() > ServingBatch::kMaxRows) {
    return fmt::format("a trajectory begins with at most {} requests", ServingBatch::kMaxRows);
  }
  if (c.problem.total_kv() > ServingBatch::kMaxTokens) {
    return fmt::format("a trajectory begins with at most {} tokens", ServingBatch::kMaxTokens);
  }
  return {};
}

// Goes through the commands, and keeps the moves. The first that may not follow ends it.
class Walker {
 public:
  explicit Walker(const Problem& beginning) : batch_(beginning) {}

  std::string command(const Step& step, int index) {
    const bool many = step.verb == Verb::kReplay && step.a != 1;
    if (many && step.a == 0) return "it replays nothing";
    const int rounds = many ? step.a : 1;
    for (int round = 0; round < rounds; ++round) {
      if (many) {
        for (const Step& change : batch_.changes_before(round)) {
          if (auto why = move({change, index, round, rounds}); !why.empty()) return why;
        }
      }
      const Step one{step.verb, many ? 1 : step.a, step.b};
      if (auto why = move({one, index, round, rounds}); !why.empty()) return why;
    }
    return {};
  }
  std::vector<Move> moves;

 private:
  std::string move(const Move& move) {
    if (auto why = batch_.why_not(move.step); !why.empty()) return why;
    if (moves.size() == kMaxMoves) return fmt::format("more than {} steps in all", kMaxMoves);
    batch_.apply(move.step);
    moves.push_back(move);
    return {};
  }
  ServingBatch batch_;
};

}  // namespace

std::string to_text(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) text += (text.empty() ? "" : ".") + text_of(step);
  return text;
}

Result<std::vector<Step>> parse_steps(std::string_view text) {
  std::vector<Step> steps;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find('.', at);
    const auto step = parse_step(text.substr(at, end - at));
    if (!step.ok()) return step.trouble();
    steps.push_back(*step);
    if (end == std::string_view::npos) return steps;
    at = end + 1;
  }
}

Result<std::vector<Move>> moves_of(const Case& c) {
  if (auto why = why_no_beginning(c); !why.empty()) return usage(std::move(why));
  const auto steps = parse_steps(c.steps);
  if (!steps.ok()) return steps.trouble();
  Walker walker(c.problem);
  for (std::size_t i = 0; i < steps->size(); ++i) {
    if (const std::string why = walker.command((*steps)[i], static_cast<int>(i)); !why.empty()) {
      return usage(
          fmt::format("step {} of {}, {}: {}", i + 1, steps->size(), text_of((*steps)[i]), why));
    }
  }
  return std::move(walker.moves);
}

std::string why_invalid_steps(const Case& c) {
  if (c.steps.empty()) return {};
  const auto moves = moves_of(c);
  return moves.ok() ? "" : moves.trouble().text;
}

}  // namespace attest

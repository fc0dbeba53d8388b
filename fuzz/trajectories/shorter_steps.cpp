#include <algorithm>

#include "fuzz/trajectories/steps.hpp"

namespace attest {
namespace {

using Steps = std::vector<Step>;

// All but [begin, end).
Steps without(const Steps& steps, std::size_t begin, std::size_t end) {
  Steps rest(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(begin));
  rest.insert(rest.end(), steps.begin() + static_cast<std::ptrdiff_t>(end), steps.end());
  return rest;
}

// Halves, quarters ... single commands left out; the later ones first, as what comes behind a
// failure is of no use.
void drop_commands(const Steps& steps, std::vector<Steps>& candidates) {
  for (std::size_t length = (steps.size() + 1) / 2; length > 0; length /= 2) {
    for (std::size_t end = steps.size(); end > 0; end -= std::min(end, length)) {
      const std::size_t begin = end - std::min(end, length);
      if (end - begin < steps.size()) candidates.push_back(without(steps, begin, end));
    }
  }
}

// Smaller numbers, the smallest first: the edges of tiles and pages below, half, one less.
std::vector<int> below(int number, int smallest) {
  std::vector<int> smaller = {smallest, 1, 16, 17, 64, 65, number / 2, number - 1};
  std::erase_if(smaller, [&](int n) { return n >= number || n < smallest; });
  std::sort(smaller.begin(), smaller.end());
  smaller.erase(std::unique(smaller.begin(), smaller.end()), smaller.end());
  return smaller;
}

// 0 splits is the kernel's own rule, and 0 query tokens the first request's: no smaller numbers.
int smallest_a(Verb verb) { return verb == Verb::kSplits || verb == Verb::kReplay ? 1 : 0; }
int smallest_b(Verb verb) { return verb == Verb::kAdd || verb == Verb::kGrow ? 1 : 0; }

void lower_numbers(const Steps& steps, std::vector<Steps>& candidates) {
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int a : below(steps[i].a, smallest_a(steps[i].verb))) {
      candidates.push_back(steps);
      candidates.back()[i].a = a;
    }
    for (const int b : below(steps[i].b, smallest_b(steps[i].verb))) {
      candidates.push_back(steps);
      candidates.back()[i].b = b;
    }
  }
}

}  // namespace

std::vector<std::string> shorter_steps(const Case& c) {
  const auto steps = parse_steps(c.steps);
  if (!steps.ok()) return {};
  std::vector<Steps> candidates;
  drop_commands(*steps, candidates);
  lower_numbers(*steps, candidates);
  std::vector<std::string> texts;
  Case shorter = c;
  for (const Steps& candidate : candidates) {
    shorter.steps = to_text(candidate);
    if (!why_invalid_steps(shorter).empty()) continue;
    if (std::find(texts.begin(), texts.end(), shorter.steps) == texts.end()) {
      texts.push_back(shorter.steps);
    }
  }
  return texts;
}

}  // namespace attest

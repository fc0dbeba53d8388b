// steps: what a serving batch goes through, as text. The value of `steps=` in a token: commands
// joined by '.', each a word with its numbers.
//   add130      a request of 130 tokens comes; add130,2: with 2 query tokens
//   grow0,3     request 0 grows by 3 tokens
//   finish1     request 1 goes; its pages are the first that others get, and keep what they hold
//   pad8        rows of s_kv = 0 fill the batch up to 8 rows, from now on; pad0: none
//   splits4     the number of splits, from now on; splits0: the kernel's own rule
//   dirty       the next launch or replay finds outputs and workspaces as the last one left them
//   launch      the batch is computed, and judged
//   capture     a launch of the batch is captured; its arguments and its grid are frozen
//   replay      what was captured runs, on the lengths, tables and contents of now, and is judged
//   replay100   100 replays; before each a request grows by one token, and now and then one
//               finishes and another comes
// Requests count from 0 in the order in which they came, those that finished taken out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/trajectories/serving_batch.hpp"
#include "harness/core/case.hpp"

namespace attest {

std::string to_text(const std::vector<Step>& steps);
Result<std::vector<Step>> parse_steps(std::string_view text);  // Trouble kUsage

// One step of a model, and which command of the text it belongs to.
struct Move {
  Step step;
  int command = 0;
  int round = 0, rounds = 1;  // of a replay of many
};

// A case's steps, one after the other, each of which may follow. Trouble kUsage says which may not,
// and why.
Result<std::vector<Move>> moves_of(const Case& c);
inline constexpr int kMaxMoves = 20000;

// Empty when the case has no steps, or such as can be gone through.
std::string why_invalid_steps(const Case& c);

// Steps for a batch that begins as `beginning`: 5 to 16, the last of which runs something. A pure
// function.
std::string draw_steps(std::uint64_t seed, const Problem& beginning);
// The case with steps, its problem made small enough to go through them in a fraction of a second.
Case draw_trajectory(std::uint64_t seed, Case c);

// Steps with less in them that can be gone through, those with least first. Whoever takes one, and
// asks again, comes to an end: a candidate has fewer commands, or as many with smaller numbers.
std::vector<std::string> shorter_steps(const Case& c);

}  // namespace attest

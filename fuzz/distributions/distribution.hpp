// Distribution: what the numbers of a case look like. A value depends on the seed and on what it is
// the value of, never on where it is stored: a token of a shared prefix has one content whichever
// sequence's page table leads to it. To add one: a file here, a line in catalog.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/problem.hpp"

namespace attest {

// How a kernel walks the cache, for data that puts its weight at the seams.
struct Walk {
  SplitRule split_rule;
  int num_splits = 1;
  int tile_tokens = 64;  // tiles start at a split's first token
};

inline constexpr int kPrefixOwner = -1;  // owner of the tokens that all sequences share

// Fills rows of one case. Called from many threads at once.
class Sampler {
 public:
  virtual ~Sampler() = default;
  // `row` has 576 elements. `token` counts query tokens of the sequence.
  virtual void fill_q(int sequence, int token, int head, std::span<std::uint16_t> row) const = 0;
  // `owner` is a sequence or kPrefixOwner; `token` is the position in the sequence.
  virtual void fill_kv(int owner, int token, std::span<std::uint16_t> row) const = 0;
};

class Distribution {
 public:
  virtual ~Distribution() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view purpose() const = 0;  // which defects it exposes, one line
  // Strawmen (harness/strawmen.hpp) whose output such data cannot tell from the right one, by its
  // construction: "last token dropped".
  virtual std::vector<std::string_view> blind_to() const { return {}; }
  virtual std::unique_ptr<const Sampler> prepare(const Problem& problem, const Walk& walk,
                                                 Seed seed) const = 0;
};

std::span<const Distribution* const> all_distributions();  // catalog.cpp
const Distribution* find_distribution(std::string_view name);

}  // namespace attest

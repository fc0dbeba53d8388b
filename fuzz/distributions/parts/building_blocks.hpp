// What several distributions are built from. Logits are made in the 64 RoPE dims of K with the
// latent part of q at 0, so that V, which is K's latent part, stays free. Every formula works for
// any sm_scale: where none can give the logits that are asked for (0, or so small that k would
// leave the range), they are smaller, and finite.
#pragma once
#include <cmath>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "fuzz/distributions/distribution.hpp"
#include "harness/core/random.hpp"

namespace attest {

// What blind_to() may name: strawman_names() of harness/strawmen.hpp, which fuzz/ may not include.
namespace strawman {
inline constexpr std::string_view kZeros = "zeros";
inline constexpr std::string_view kPoison = "poison left";
inline constexpr std::string_view kAnotherHeadsRow = "another head's row";
inline constexpr std::string_view kOneSplitDropped = "one split dropped";
inline constexpr std::string_view kScaleOff = "scale 2 % off";
inline constexpr std::string_view kLastTokenDropped = "last token dropped";
inline constexpr std::string_view kLseInBaseTwo = "lse in base 2";
inline constexpr std::string_view kAll[] = {kZeros,           kPoison,   kAnotherHeadsRow,
                                            kOneSplitDropped, kScaleOff, kLastTokenDropped,
                                            kLseInBaseTwo};
}  // namespace strawman

// A distribution that is its sampler, made of (problem, walk, seed), and three texts.
template <class SamplerOf>
class DistributionOf : public Distribution {
 public:
  DistributionOf(std::string_view name, std::string_view purpose,
                 std::vector<std::string_view> blind_to = {})
      : name_(name), purpose_(purpose), blind_to_(std::move(blind_to)) {}
  std::string_view name() const override { return name_; }
  std::string_view purpose() const override { return purpose_; }
  std::vector<std::string_view> blind_to() const override { return blind_to_; }
  std::unique_ptr<const Sampler> prepare(const Problem& problem, const Walk& walk,
                                         Seed seed) const override {
    return std::make_unique<SamplerOf>(problem, walk, seed);
  }

 private:
  std::string_view name_, purpose_;
  std::vector<std::string_view> blind_to_;
};

using Row = std::span<std::uint16_t>;  // 576 elements, or a part

inline constexpr float kQAlong = 16;  // q in a dim that carries a planned logit

// The k that q = kQAlong in one dim makes a logit of `nats`.
double k_of(double nats, float sm_scale);

// Splits `value` over bf16 elements whose sum it is: to 2^-8 of itself with one, 2^-16 with two,
// exact for a value of fp32 with three.
void put_sum(Row elements, double value);

void clear(Row row);
void scale_all(Row row, double factor);  // rounded once

// Rows in order of (query token, head); neighbours differ by what is made of it.
inline int index_of(const Problem& problem, int token, int head) {
  return token * problem.h_q + head;
}

// 16, 15.5, ... 8.5 and again: rows that see the same pattern at different heights.
float along_of_row(const Problem& problem, int token, int head);

// The length that shapes what `owner` holds: its own, or that of the longest sequence where some
// share a prefix, which has one content.
class Lengths {
 public:
  explicit Lengths(const Problem& problem);
  int of(int owner) const { return longest_ > 0 ? longest_ : s_kv_[owner]; }

 private:
  std::vector<int> s_kv_;
  int longest_ = 0;  // where there is a prefix
};

// Logits ~ N(0, nats^2), independent for all (row, token), from the RoPE dims: the latent part of q
// is 0.
class RopeNormal {
 public:
  RopeNormal(const Problem& problem, Seed seed, double nats = 1);
  void fill_q(int sequence, int token, int head, Row row) const;
  void fill_kv(int owner, int token, Row row) const;  // V ~ N(0,1)

 private:
  Seed seed_;
  double k_factor_;
};

// The last token that some query token sees: of each sequence its last s_q.
class LastTokens {
 public:
  explicit LastTokens(const Problem& problem);
  bool contains(int owner, int token) const;

 private:
  std::vector<std::pair<int, int>> own_;  // [b] first and end
  std::vector<int> in_prefix_;            // sorted
};

// Where a kernel's walk meets a token: of a shared prefix, the walk over the longest sequence.
struct WalkPlace {
  int split = 0, splits = 0;   // live ones
  int tile = 0, tiles = 0;     // of the split
  int offset = 0, tokens = 0;  // of the tile
};
class WalkPlaces {
 public:
  WalkPlaces(const Problem& problem, const Walk& walk);
  WalkPlace at(int owner, int token) const;

 private:
  std::vector<std::vector<TokenRange>>
      splits_;  // by sequence; one list for all where there is a prefix
  bool one_for_all_;
  int tile_tokens_;
};

}  // namespace attest

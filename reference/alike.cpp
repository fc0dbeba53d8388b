#include "reference/alike.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <unordered_map>

#include "harness/core/random.hpp"

namespace attest {
namespace {

// Of the bits of a token's K and V.
std::uint64_t hash_of(Elements row) {
  constexpr std::size_t kLanes = 4;
  std::array<std::uint64_t, kLanes> state = {1, 2, 3, 4}, words{};
  const std::size_t bytes = std::size_t{kDQk} * bytes_of_element(row.storage());
  static_assert(kDQk % sizeof words == 0);
  for (std::size_t at = 0; at < bytes; at += sizeof words) {
    std::memcpy(words.data(), row.address() + at, sizeof words);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      state[lane] = (state[lane] ^ words[lane]) * 0x9e3779b97f4a7c15 + (state[lane] >> 29);
  }
  std::uint64_t all = 0;
  for (const std::uint64_t lane : state) all = mix64(all ^ lane);
  return all;
}

}  // namespace

Alike::Alike(const Problem& problem, const Inputs& inputs, const BlockJob& job, int r) {
  std::unordered_map<std::uint64_t, int> known;
  for (int token = 0; token < job.block.visible[r]; ++token) {
    if (!(job.scores.repeat[std::size_t{1} * token * kBlockRows + r] > 1)) continue;
    if (kinds_.empty()) kinds_.assign(job.block.visible[r], -1);
    const std::uint64_t hash = hash_of(token_row(problem, inputs, job.block.sequence, token));
    const auto [kind, is_new] = known.try_emplace(hash, static_cast<int>(all_.size()));
    if (is_new) all_.push_back(0);
    kinds_[token] = kind->second;
    ++all_[kind->second];
  }
  here_.resize(all_.size());
}

double Alike::elsewhere(int begin, int end) {
  end = std::min(end, static_cast<int>(kinds_.size()));
  const auto each = [&](const auto& visit) {
    for (int token = begin; token < end; ++token) {
      if (kinds_[token] >= 0) visit(kinds_[token]);
    }
  };
  double most = 1;
  each([&](int kind) { ++here_[kind]; });
  each([&](int kind) { most = std::max(most, 1.0 * all_[kind] / here_[kind]); });
  each([&](int kind) { here_[kind] = 0; });
  return most;
}

}  // namespace attest

#include "fuzz/distributions/parts/building_blocks.hpp"

#include <algorithm>

#include "harness/core/formats.hpp"

namespace attest {

double k_of(double nats, float sm_scale) {
  constexpr double kLargestK = 0x1p60;  // sums of 576 |q k| stay far inside fp32
  if (sm_scale == 0 || nats == 0) return 0;
  return std::clamp(nats / (kQAlong * double{sm_scale}), -kLargestK, kLargestK);
}

void put_sum(Row elements, double value) {
  for (std::uint16_t& element : elements) {
    element = encode_bf16(value);
    value -= double{decode_bf16(element)};
  }
}

void clear(Row row) { std::fill(row.begin(), row.end(), std::uint16_t{0}); }

void scale_all(Row row, double factor) {
  for (std::uint16_t& x : row) x = encode_bf16(decode_bf16(x) * factor);
}

float along_of_row(const Problem& problem, int token, int head) {
  return kQAlong - 0.5f * static_cast<float>(index_of(problem, token, head) % 16);
}

Lengths::Lengths(const Problem& problem) : s_kv_(problem.s_kv) {
  if (problem.shared_prefix > 0) longest_ = *std::max_element(s_kv_.begin(), s_kv_.end());
}

RopeNormal::RopeNormal(const Problem& problem, Seed seed, double nats)
    // A sum of 64 products of N(0,1) has a standard deviation of 8.
    : seed_(seed), k_factor_(kQAlong * k_of(nats, problem.sm_scale) / 8) {}

void RopeNormal::fill_q(int sequence, int token, int head, Row row) const {
  fill_normal(stream_of(seed_, Tensor::kQ, sequence, token * kMaxHeads + head), row);
  clear(row.first(kDV));
}

void RopeNormal::fill_kv(int owner, int token, Row row) const {
  fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
  scale_all(row.subspan(kDV), k_factor_);
}

LastTokens::LastTokens(const Problem& problem) {
  for (int seq = 0; seq < problem.b(); ++seq) {
    const int end = problem.s_kv[seq], first = end - problem.s_q[seq];
    own_.emplace_back(first, end);
    for (int token = std::max(0, first); token < std::min(end, problem.shared_prefix); ++token) {
      in_prefix_.push_back(token);
    }
  }
  std::sort(in_prefix_.begin(), in_prefix_.end());
}

bool LastTokens::contains(int owner, int token) const {
  if (owner == kPrefixOwner) {
    return std::binary_search(in_prefix_.begin(), in_prefix_.end(), token);
  }
  return own_[owner].first <= token && token < own_[owner].second;
}

WalkPlaces::WalkPlaces(const Problem& problem, const Walk& walk)
    : one_for_all_(problem.shared_prefix > 0), tile_tokens_(walk.tile_tokens) {
  const Lengths lengths(problem);
  const int lists = one_for_all_ ? 1 : problem.b();
  for (int seq = 0; seq < lists; ++seq) {
    splits_.push_back(live_splits(walk.split_rule, lengths.of(seq), walk.num_splits));
  }
}

WalkPlace WalkPlaces::at(int owner, int token) const {
  const std::vector<TokenRange>& splits = splits_[one_for_all_ ? 0 : owner];
  const auto after =
      std::upper_bound(splits.begin(), splits.end(), token,
                       [](int wanted, const TokenRange& split) { return wanted < split.begin; });
  const TokenRange split = *(after - 1);
  const int tile = (token - split.begin) / tile_tokens_;
  const int begin = split.begin + tile * tile_tokens_;
  return {.split = static_cast<int>(after - splits.begin()) - 1,
          .splits = static_cast<int>(splits.size()),
          .tile = tile,
          .tiles = (split.end - split.begin + tile_tokens_ - 1) / tile_tokens_,
          .offset = token - begin,
          .tokens = std::min(tile_tokens_, split.end - begin)};
}

}  // namespace attest

// Rows of a distribution and their logits, for tests.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "fuzz/distributions/distribution.hpp"
#include "harness/core/formats.hpp"

namespace attest::test {

using Values = std::vector<std::uint16_t>;

inline std::unique_ptr<const Sampler> prepare(std::string_view name, const Problem& p,
                                              Walk walk = {}, Seed seed = {5}) {
  return find_distribution(name)->prepare(p, walk, seed);
}

inline Values q_row(const Sampler& sampler, int seq, int token, int head) {
  Values row(kDQk);
  sampler.fill_q(seq, token, head, row);
  return row;
}

inline Values kv_row(const Sampler& sampler, int owner, int token) {
  Values row(kDQk);
  sampler.fill_kv(owner, token, row);
  return row;
}

inline int owner_of(const Problem& p, int seq, int token) {
  return token < p.shared_prefix ? kPrefixOwner : seq;
}

inline double logit(const Problem& p, const Values& q, const Values& k) {
  double sum = 0;
  for (int i = 0; i < kDQk; ++i) sum += double{decode_bf16(q[i])} * decode_bf16(k[i]);
  return sum * p.sm_scale;
}

// Of all tokens of a sequence, seen by its query token `query` or not.
inline std::vector<double> logits(const Problem& p, const Sampler& sampler, int seq, int query,
                                  int head) {
  const Values q = q_row(sampler, seq, query, head);
  std::vector<double> x;
  for (int token = 0; token < p.s_kv[seq]; ++token) {
    x.push_back(logit(p, q, kv_row(sampler, owner_of(p, seq, token), token)));
  }
  return x;
}

}  // namespace attest::test

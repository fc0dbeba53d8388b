// Dao-AILab/flash-attention tests/test_flash_attn.py, attention_ref(upcast=False,
// reorder_ops=True): k / sqrt(d) is rounded to bf16, scores are rounded to bf16, torch.softmax
// works in fp32 and rounds P to bf16 after its division, P.V accumulates in fp32 and is rounded
// once. Here the case's sm_scale takes the place of 1 / sqrt(d).
#include "harness/pytorch_attention.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/core/contract.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/parallel.hpp"

namespace attest {
namespace {

constexpr int kLanes = 16;          // sums run side by side, so that a compiler can use vectors
constexpr int kBlockTokens = 1024;  // sums of a block are added in order: threads do not show

// As encode_bf16, inline for the loops; NaN stays NaN.
float rounded(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t up = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000u;
  return x != x ? x : std::bit_cast<float>(up);
}

float sum_of(const float* lanes) {
  float sum = 0;
  for (int i = 0; i < kLanes; ++i) sum += lanes[i];
  return sum;
}

// One query token of one sequence, all heads.
struct Query {
  const Problem& problem;
  const Inputs& inputs;
  int sequence = 0, visible = 0;
  std::int64_t token = 0;

  Elements k(int j) const {
    const std::int64_t entry = inputs.kv_indptr[sequence] + j / problem.page_size;
    const std::int64_t slot =
        std::int64_t{inputs.kv_indices[entry]} * problem.page_size + j % problem.page_size;
    return inputs.kv_elements() + slot * kDQk;
  }
  Elements q(int head) const {
    return inputs.q_elements() + (token * problem.q_stride_t() + head * problem.q_stride_h());
  }
};

// Of one head: scores, then weights.
struct Weights {
  std::vector<float> exact, bf16;  // [visible]
};

void score_block(const Query& query, TokenRange block, const std::vector<float>& q,
                 std::vector<Weights>& heads) {
  float k[kDQk], scaled[kDQk];
  for (int j = block.begin; j < block.end; ++j) {
    query.k(j).read(kDQk, k);
    for (float& value : k) value *= query.problem.kv_scale;
    for (int d = 0; d < kDQk; ++d) scaled[d] = rounded(k[d] * query.problem.sm_scale);
    for (std::size_t head = 0; head < heads.size(); ++head) {
      const float* const of_head = q.data() + head * kDQk;
      float exact[kLanes] = {}, bf16[kLanes] = {};
      for (int d = 0; d < kDQk; d += kLanes) {
        for (int i = 0; i < kLanes; ++i) exact[i] += of_head[d + i] * k[d + i];
        for (int i = 0; i < kLanes; ++i) bf16[i] += of_head[d + i] * scaled[d + i];
      }
      heads[head].exact[j] = sum_of(exact) * query.problem.sm_scale;
      heads[head].bf16[j] = rounded(sum_of(bf16));
    }
  }
}

// In place: e^{x - max} / sum.
void softmax(std::vector<float>& x) {
  const float max = *std::max_element(x.begin(), x.end());
  double sum = 0;  // torch adds in fp32, in a tree; the difference is far below P's rounding
  for (float& value : x) sum += value = std::exp(value - max);
  const float total = static_cast<float>(sum);
  for (float& value : x) value /= total;
}

struct Sums {
  float o[kDV] = {}, magnitude[kDV] = {};
};

void add_block(const Query& query, TokenRange block, const std::vector<Weights>& heads,
               Sums* sums) {
  float v[kDV];
  for (int j = block.begin; j < block.end; ++j) {
    query.k(j).read(kDV, v);
    for (float& value : v) value *= query.problem.kv_scale;
    for (std::size_t head = 0; head < heads.size(); ++head) {
      const float a = heads[head].exact[j], p = heads[head].bf16[j];
      Sums& sum = sums[head];
      for (int d = 0; d < kDV; ++d) sum.o[d] += p * v[d];
      for (int d = 0; d < kDV; ++d) sum.magnitude[d] += a * std::abs(v[d]);
    }
  }
}

TokenRange block_of(std::size_t block, int visible) {
  const int begin = static_cast<int>(block) * kBlockTokens;
  return {begin, std::min(begin + kBlockTokens, visible)};
}

// False: no memory on a helper thread.
bool attend(const Query& query, int threads, PytorchAttention& result) {
  const int heads = query.problem.h_q;
  const std::size_t blocks = (query.visible + kBlockTokens - 1) / kBlockTokens;
  std::vector<float> q(std::size_t(heads) * kDQk);
  for (int head = 0; head < heads; ++head) {
    query.q(head).read(kDQk, &q[head * kDQk]);
    for (int d = 0; d < kDQk; ++d) q[head * kDQk + d] *= query.problem.q_scale;
  }
  std::vector<Weights> weights(heads);
  for (Weights& w : weights) w.exact.resize(query.visible), w.bf16.resize(query.visible);
  const auto score = [&](int, std::size_t block) {
    score_block(query, block_of(block, query.visible), q, weights);
  };
  std::vector<Sums> sums(blocks * heads);
  const auto add = [&](int, std::size_t block) {
    add_block(query, block_of(block, query.visible), weights, sums.data() + block * heads);
  };
  if (!parallel_for(threads, blocks, score)) return false;
  for (Weights& w : weights) {
    softmax(w.exact);
    softmax(w.bf16);
    for (float& p : w.bf16) p = rounded(p);
  }
  if (!parallel_for(threads, blocks, add)) return false;
  for (int head = 0; head < heads; ++head) {
    const std::size_t row = (query.token * heads + head) * kDV;
    for (int d = 0; d < kDV; ++d) {
      float o = 0, magnitude = 0;
      for (std::size_t block = 0; block < blocks; ++block) {
        o += sums[block * heads + head].o[d];
        magnitude += sums[block * heads + head].magnitude[d];
      }
      result.o[row + d] = encode_bf16(o);
      result.magnitude[row + d] = magnitude;
    }
  }
  return true;
}

}  // namespace

Result<PytorchAttention> pytorch_attention(const Problem& problem, const Inputs& inputs,
                                           int threads) {
  PytorchAttention result;
  result.o.resize(problem.rows() * kDV);
  result.magnitude.resize(problem.rows() * kDV);
  std::int64_t token = 0;
  for (int seq = 0; seq < problem.b(); ++seq) {
    for (int i = 0; i < problem.s_q[seq]; ++i, ++token) {
      const Query query{problem, inputs, seq, problem.visible(seq, i), token};
      if (query.visible > 0 && !attend(query, threads, result)) {
        return Trouble{TroubleKind::kInfra, "out of memory on the host"};
      }
    }
  }
  return result;
}

}  // namespace attest

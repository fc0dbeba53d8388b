// Needles: tokens at the seams of the kernel's walk carry e^12 times the weight of the others, so
// that a seam that is dropped, repeated or read from a wrong place moves o, lse and the partials
// visibly, at any context length. Logits are made in the 64 RoPE dims alone (the latent part of q
// is 0), so that V stays free. Row (query token i, head h) looks along one RoPE dim, its class. A
// needle at a tile or page edge shows in one class, so that a row sees few enough of them for each
// to matter; ends of the sequence and of splits show in all.
#include <algorithm>
#include <vector>

#include "fuzz/distributions/catalog.hpp"
#include "fuzz/distributions/parts/building_blocks.hpp"
#include "harness/core/formats.hpp"

namespace attest {
namespace {

constexpr double kNeedleNats = 12;
constexpr double kBackground =
    1.0 / 18;  // of a needle's k: logits of the rest spread by 12 / 18 nats

enum Mark : std::uint8_t { kNone, kOneClass, kEveryClass };

class NeedlesSampler : public Sampler {
 public:
  NeedlesSampler(const Problem& problem, const Walk& walk, Seed seed)
      : problem_(problem),
        seed_(seed),
        needle_k_(k_of(kNeedleNats, problem.sm_scale)),
        prefix_(problem.shared_prefix, kNone) {
    const int fewest = *std::min_element(problem.s_q.begin(), problem.s_q.end());
    classes_ = std::min(kDRope, problem.h_q * fewest);
    for (int seq = 0; seq < problem.b(); ++seq) {
      own_.emplace_back(problem.s_kv[seq], kNone);
      mark_sequence(walk, seq);
    }
  }

  void fill_q(int, int token, int head, Row row) const override {
    clear(row);
    const int index = index_of(problem_, token, head);
    // Rows that share a class differ in height, so that no two heads are alike.
    const float along = kQAlong * (1 + 0.125f * static_cast<float>(index / classes_));
    row[kDV + index % classes_] = encode_bf16(along);
  }

  void fill_kv(int owner, int token, Row row) const override {
    fill_normal(stream_of(seed_, Tensor::kKv, owner, token), row);
    scale_all(row.subspan(kDV), needle_k_ * kBackground);
    const Mark mark = owner == kPrefixOwner ? prefix_[token] : own_[owner][token];
    const std::uint16_t needle = encode_bf16(needle_k_);
    if (mark == kOneClass) row[kDV + class_of(token)] = needle;
    if (mark == kEveryClass) std::fill_n(row.begin() + kDV, classes_, needle);
  }

 private:
  int class_of(int token) const {
    return static_cast<int>(stream_of(seed_, Tensor::kPlan).bits(token) % classes_);
  }

  void mark(int seq, int token, Mark mark) {
    if (token < 0 || token >= problem_.s_kv[seq]) return;
    Mark& at = token < problem_.shared_prefix ? prefix_[token] : own_[seq][token];
    at = std::max(at, mark);
  }

  void mark_sequence(const Walk& walk, int seq) {
    const int s_kv = problem_.s_kv[seq];
    mark(seq, 0, kEveryClass);
    for (int i = 0; i < problem_.s_q[seq]; ++i)
      mark(seq, problem_.visible(seq, i) - 1, kEveryClass);
    for (const TokenRange& split : live_splits(walk.split_rule, s_kv, walk.num_splits)) {
      mark(seq, split.begin, kEveryClass);
      mark(seq, split.end - 1, kEveryClass);
      mark_edges(seq, split, walk.tile_tokens);
    }
    // A page of one token has no inside: each token would be a needle, hence none would.
    if (problem_.page_size > 1) mark_edges(seq, {0, s_kv}, problem_.page_size);
  }

  void mark_edges(int seq, TokenRange range, int step) {
    for (int begin = range.begin; begin < range.end; begin += step) {
      mark(seq, begin, kOneClass);
      mark(seq, std::min(begin + step, range.end) - 1, kOneClass);
    }
  }

  const Problem problem_;
  const Seed seed_;
  const double needle_k_;
  int classes_ = 1;
  std::vector<Mark> prefix_;            // of the shared tokens
  std::vector<std::vector<Mark>> own_;  // of each sequence, by position
};

}  // namespace

const Distribution& needles_distribution() {
  static const DistributionOf<NeedlesSampler> kInstance{
      "needles",
      "+12 nats at the first and last token and at tile, page and split edges; sees a seam dropped "
      "or misread"};
  return kInstance;
}

}  // namespace attest

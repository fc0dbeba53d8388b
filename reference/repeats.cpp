// Rounding errors of two tokens are equal, not independent, where all that is rounded is: equal
// scores of equal products, or equal P.
#include <algorithm>
#include <bit>
#include <cmath>

#include "harness/core/random.hpp"
#include "reference/job.hpp"

namespace attest {
namespace {

// T2p: what is left to chance is the error of the score. Tokens with one score may have one error.
class ScoreCounts {
 public:
  explicit ScoreCounts(int tokens)
      : slots_(std::bit_ceil(static_cast<std::size_t>(std::max(2 * tokens, 64)))) {}
  void add(double x) {
    Slot& slot = find(x);
    slot.score = bits(x);
    ++slot.tokens;
  }
  std::uint32_t count(double x) { return find(x).tokens; }

 private:
  struct Slot {
    std::uint64_t score = 0;
    std::uint32_t tokens = 0;
  };
  static std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x + 0.0); }
  Slot& find(double x) {
    std::size_t at = mix64(bits(x)) & (slots_.size() - 1);
    while (slots_[at].tokens > 0 && slots_[at].score != bits(x))
      at = (at + 1) & (slots_.size() - 1);
    return slots_[at];
  }
  std::vector<Slot> slots_;
};

// T1: so is the rounding of P. Within a quarter of the spacing of P's significands, errors are
// nearly one, whatever the power of two.
class PlaceCounts {
 public:
  explicit PlaceCounts(const Arithmetic& a)
      : bins_(std::ldexp(1.0, std::min(a.p_bits, 12) + 2)),
        counts_(static_cast<std::size_t>(bins_)) {}
  void add(double x) { ++counts_[bin(x)]; }
  std::uint32_t count(double x) const { return counts_[bin(x)]; }

 private:
  std::size_t bin(double x) const {
    const double log2 = x / kLn2;
    return static_cast<std::uint64_t>((log2 - std::floor(log2)) * bins_) % counts_.size();
  }
  double bins_;
  std::vector<std::uint32_t> counts_;
};

// Calls visit(x, the max in force there, N) for each token that row r sees.
template <class Visit>
void each_token(const Arithmetic& a, int r, BlockJob& job, const Visit& visit) {
  for (std::size_t c = 0; c < job.chunks.size(); ++c) {
    const int begin = job.chunks[c].begin;
    const int end = std::min(job.chunks[c].end, job.block.visible[r]);
    for (int token = begin; token < end; ++token) {
      const std::size_t at = std::size_t{1} * token * kBlockRows + r;
      visit(job.scores.x[at], job.chunk_largest[c].tiles[(token - begin) / a.tile_tokens].max[r],
            job.scores.repeat[at]);
    }
  }
}

}  // namespace

void count_repeats(const Arithmetic& a, const Plan& plan, int r, BlockJob& job) {
  if (plan.declared) {
    ScoreCounts scores(job.block.visible[r]);
    each_token(a, r, job, [&](double x, double, float&) { scores.add(x); });
    each_token(a, r, job,
               [&](double x, double, float& n) { n = static_cast<float>(scores.count(x)); });
    return;
  }
  // Where all tiles round alike about maxima that drift, only x - max repeats; the schedule being
  // unknown, one max may also serve them all.
  PlaceCounts scores(a), differences(a);
  each_token(a, r, job, [&](double x, double max, float&) {
    scores.add(x);
    differences.add(x - max);
  });
  each_token(a, r, job, [&](double x, double max, float& n) {
    n = static_cast<float>(std::max(scores.count(x), differences.count(x - max)));
  });
}

}  // namespace attest

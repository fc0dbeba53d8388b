#include "harness/visibility.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/judge_gates.hpp"
#include "harness/token_loss.hpp"

namespace attest {
namespace {

// At most `most` of [0, count), the first and the last among them, evenly spaced.
std::vector<std::int64_t> sample(std::int64_t count, int most) {
  std::vector<std::int64_t> picked;
  if (count <= most) most = static_cast<int>(count);
  for (int i = 0; i < most; ++i) {
    picked.push_back(most == 1 ? count - 1 : i * (count - 1) / (most - 1));
  }
  return picked;
}

// Right but for a move.
bool is_rejected(const TensorGates& gates, std::int64_t i, double by) {
  const double value = gates.centre(i) + by;
  if (gates.takes(i, value)) return false;
  return gates.judge(i, stored_bits(gates.stored(), value)).fault != Fault::kNone;
}

struct Row {
  RowWeights weights;
  std::int64_t index;
};

// Looks at one sequence. A loss is looked for in lse and partial lse of each row, as it takes no V;
// in o and partial o only of the row in which the most weight is lost.
class Looker {
 public:
  Looker(const Subject& s, const Inputs& inputs, const Reference& reference)
      : s_(s), inputs_(inputs), expected_(reference.expected), gates_(s, reference) {}

  void enter(int sequence) {
    live_ = live_splits(s_.contract.split_rule, s_.problem.s_kv[sequence], s_.num_splits);
    rows_.clear();
    const std::int64_t first = std::int64_t{inputs_.qo_indptr[sequence]} * s_.problem.h_q;
    auto picked = sample(std::int64_t{s_.problem.s_q[sequence]} * s_.problem.h_q, kRowsLookedAt);
    std::reverse(picked.begin(), picked.end());  // the last sees all tokens
    for (const std::int64_t i : picked) {
      rows_.push_back({RowWeights(s_.problem, inputs_, first + i), first + i});
    }
  }

  const std::vector<TokenRange>& live() const { return live_; }

  // The weight lost in a row that shows the loss of `tokens`; negative: none does.
  double shown_weight(TokenRange tokens) const {
    // Long ranges in fewer rows: a dot product a token and row is what it costs.
    const int most = std::max(4, kRowsLookedAt / (tokens.end - tokens.begin));
    double largest = 0;
    const Row* heaviest = nullptr;
    for (int r = 0; r < std::min(most, static_cast<int>(rows_.size())); ++r) {
      const Row& row = rows_[r];
      const TokenRange seen = row.weights.view().seen(tokens);
      if (seen.begin == seen.end) continue;
      const double weight = row.weights.weight(seen, expected_.lse[row.index]);
      if (is_rejected(gates_.lse, row.index, std::log1p(-weight))) return weight;
      if (partial_lse_shows(row, seen)) return weight;
      if (weight > largest) heaviest = &row, largest = weight;
    }
    return heaviest != nullptr && o_shows(*heaviest, tokens, largest) ? largest : -1;
  }

  bool split_is_shown(int split) const {
    double largest = 0;
    std::int64_t heaviest = -1;
    for (const Row& row : rows_) {
      if (row.weights.view().visible() <= live_[split].begin) continue;
      const double lse = expected_.partial_lse[row.index * s_.num_splits + split];
      const double weight = std::exp(lse - expected_.lse[row.index]);
      if (is_rejected(gates_.lse, row.index, std::log1p(-weight))) return true;
      if (weight > largest) heaviest = row.index, largest = weight;
    }
    if (heaviest < 0) return false;
    const double* const part =
        expected_.partial_o.data() + (heaviest * s_.num_splits + split) * kDV;
    for (int d = 0; d < kDV; ++d) {
      const std::int64_t i = heaviest * kDV + d;
      if (is_rejected(gates_.o, i, o_moves(expected_.o[i], largest, largest * part[d])))
        return true;
    }
    return false;
  }

 private:
  // Calls visit(index of the partial, its tokens) for each split with some of `seen`.
  template <class Visit>
  bool any_part(const Row& row, TokenRange seen, const Visit& visit) const {
    if (s_.num_splits == 1) return false;
    for (int split = 0; split < static_cast<int>(live_.size()); ++split) {
      const TokenRange in{std::max(seen.begin, live_[split].begin),
                          std::min(seen.end, live_[split].end)};
      if (in.begin < in.end && visit(row.index * s_.num_splits + split, in)) return true;
    }
    return false;
  }

  bool partial_lse_shows(const Row& row, TokenRange seen) const {
    return any_part(row, seen, [&](std::int64_t part, TokenRange in) {
      const double weight = row.weights.weight(in, expected_.partial_lse[part]);
      return is_rejected(gates_.partial_lse, part, std::log1p(-weight));
    });
  }

  bool o_shows(const Row& row, TokenRange tokens, double weight) const {
    const TokenRange seen = row.weights.view().seen(tokens);
    if (o_without_shows(gates_.o, expected_.o, row, seen, row.index, expected_.lse[row.index],
                        weight)) {
      return true;
    }
    return any_part(row, seen, [&](std::int64_t part, TokenRange in) {
      const double lse = expected_.partial_lse[part];
      return o_without_shows(gates_.partial_o, expected_.partial_o, row, in, part, lse,
                             row.weights.weight(in, lse));
    });
  }

  static bool o_without_shows(const TensorGates& gates, const std::vector<double>& o,
                              const Row& row, TokenRange tokens, std::int64_t at, double lse,
                              double weight) {
    const auto lost = row.weights.weighted_values(tokens, lse);
    for (int d = 0; d < kDV; ++d) {
      const std::int64_t i = at * kDV + d;
      if (is_rejected(gates, i, o_moves(o[i], weight, lost[d]))) return true;
    }
    return false;
  }

  const Subject& s_;
  const Inputs& inputs_;
  const Expected& expected_;
  const CaseGates gates_;
  std::vector<TokenRange> live_;
  std::vector<Row> rows_;
};

void look_at_tokens(const Problem& p, int sequence, int most, const Looker& looker,
                    Visibility& found) {
  for (const std::int64_t token : sample(p.s_kv[sequence], most)) {
    const int begin = static_cast<int>(token);
    const double weight = looker.shown_weight({begin, begin + 1});
    ++found.tokens.looked_at;
    if (weight < 0) continue;
    if (found.tokens.visible++ == 0) found.smallest_weight_seen = weight;
    found.smallest_weight_seen = std::min(found.smallest_weight_seen, weight);
  }
}

void look_at_pages(const Problem& p, int sequence, int most, const Looker& looker,
                   Visibility& found) {
  for (const std::int64_t page : sample(p.pages_of(sequence), most)) {
    const int begin = static_cast<int>(page) * p.page_size;
    ++found.pages.looked_at;
    const TokenRange tokens{begin, std::min(begin + p.page_size, p.s_kv[sequence])};
    if (looker.shown_weight(tokens) >= 0) ++found.pages.visible;
  }
}

void look_at_splits(int most, const Looker& looker, Visibility& found) {
  if (looker.live().size() < 2) return;  // its loss is that of all
  for (const std::int64_t split : sample(static_cast<std::int64_t>(looker.live().size()), most)) {
    ++found.splits.looked_at;
    if (looker.split_is_shown(static_cast<int>(split))) ++found.splits.visible;
  }
}

}  // namespace

Visibility visibility_of(const Subject& subject, const Inputs& inputs, const Reference& reference) {
  const Problem& p = subject.problem;
  std::vector<int> sequences;
  for (int seq = 0; seq < p.b(); ++seq) {
    if (p.s_kv[seq] > 0) sequences.push_back(seq);
  }
  Visibility found;
  Looker looker(subject, inputs, reference);
  const auto count = static_cast<std::int64_t>(sequences.size());
  // Each sequence that is looked at has the same share of the sample: a long one is no more
  // important.
  const int looked_at = static_cast<int>(std::min<std::int64_t>(count, kTokensLookedAt / 4));
  int pages_left = kPagesLookedAt;
  for (const std::int64_t i : sample(count, looked_at)) {
    const int seq = sequences[i];
    looker.enter(seq);
    look_at_tokens(p, seq, kTokensLookedAt / looked_at, looker, found);
    look_at_splits(kSplitsLookedAt / looked_at, looker, found);
    const int pages = std::min(pages_left, std::max(1, kPagesLookedAt / looked_at));
    if (pages > 0) look_at_pages(p, seq, pages, looker, found);
    pages_left -= pages;
  }
  return found;
}

}  // namespace attest

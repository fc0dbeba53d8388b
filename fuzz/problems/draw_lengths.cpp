#include "fuzz/problems/draw_lengths.hpp"

#include <algorithm>

#include "fuzz/problems/draw_axes.hpp"

namespace attest {
namespace {

using rc::Gen;
using rc::gen::inRange;
using rc::gen::just;

enum class Profile { kIndependent, kEqual, kOneLong, kStairs, kPadded, kSharedPrefix };

Gen<Profile> profile() {
  return rc::gen::weightedElement<Profile>({{8, Profile::kIndependent},
                                            {2, Profile::kEqual},
                                            {3, Profile::kOneLong},
                                            {2, Profile::kStairs},
                                            {2, Profile::kPadded},
                                            {3, Profile::kSharedPrefix}});
}

Gen<int> clamped(Gen<int> gen, int max) {
  return rc::gen::map(std::move(gen), [max](int x) { return std::clamp(x, 0, max); });
}

// Lengths where the number of live splits changes.
Gen<int> near_live_splits(int max, const Seams& seams) {
  const int least = seams.split_rule.min_tokens;
  return axes::near_multiple(least, std::min(max, (seams.num_splits + 1) * least));
}

// Lengths where that of a split changes, or is at the edge of a tile: n * length, and all that the
// last split takes besides, or one less.
Gen<int> near_split_length(int max, const Seams& seams) {
  const int splits = std::min(seams.num_splits, max + 1);
  const auto length = rc::gen::oneOf(axes::log_up_to(max / splits),
                                     axes::near_multiple(seams.tile_tokens, max / splits));
  const auto rest = rc::gen::element(-1, 0, 0, 1, splits - 1, splits / 2);
  return rc::gen::map(rc::gen::tuple(length, rest), [=](const std::tuple<int, int>& drawn) {
    return std::clamp(splits * std::get<0>(drawn) + std::get<1>(drawn), 0, max);
  });
}

// The largest length whose cost is affordable.
int longest_for(double ms, const std::function<double(int)>& cost_ms) {
  int low = 0, high = kMaxContext;
  while (low < high) {
    const int middle = low + (high - low + 1) / 2;
    if (cost_ms(middle) <= ms) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Deals out the budget, so that each sequence can afford its share of what is left.
class Purse {
 public:
  Purse(const LengthBudget& budget, int b) : budget_(budget), left_ms_(budget.total_ms), b_(b) {}
  // At most what `share` of the rest of the budget buys.
  int most(int seq, double share) const {
    return longest_for(left_ms_ * share, [&](int length) { return budget_.cost_ms(seq, length); });
  }
  int fair(int seq) const { return most(seq, std::min(1.0, 2.0 / (b_ - seq))); }
  int pay(int seq, int length) {
    left_ms_ -= budget_.cost_ms(seq, length);
    return length;
  }

 private:
  const LengthBudget& budget_;
  double left_ms_;
  int b_;
};

// The same for every sequence, so much that all can afford it.
int most_for_all(const LengthBudget& budget, int b) {
  return longest_for(budget.total_ms, [&](int length) {
    double sum = 0;
    for (int seq = 0; seq < b; ++seq) sum += budget.cost_ms(seq, length);
    return sum;
  });
}

Gen<int> short_length(int max, const Seams& seams) {
  return rc::gen::oneOf(
      just(std::min(1, max)), clamped(inRange(0, 9), max),
      clamped(inRange(seams.s_q - 1, seams.s_q + 2), max),
      axes::near_multiple(seams.tile_tokens, std::min(max, 2 * seams.tile_tokens)));
}

void draw_one_long(Draw& draw, const LengthBudget& budget, Seams seams, Problem& p) {
  Purse purse(budget, p.b());
  const int longest = draw(inRange(0, p.b()));
  seams.s_q = p.s_q[longest];
  const auto about_most = [&](int max) {
    return draw(rc::gen::oneOf(just(max), length_up_to(max, seams)));
  };
  p.s_kv[longest] = purse.pay(longest, about_most(purse.most(longest, 0.8)));
  for (int seq = 0; seq < p.b(); ++seq) {
    if (seq == longest) continue;
    seams.s_q = p.s_q[seq];
    p.s_kv[seq] = purse.pay(seq, draw(short_length(purse.fair(seq), seams)));
  }
}

void draw_independent(Draw& draw, const LengthBudget& budget, Seams seams, Problem& p) {
  Purse purse(budget, p.b());
  for (int seq = 0; seq < p.b(); ++seq) {
    seams.s_q = p.s_q[seq];
    p.s_kv[seq] = purse.pay(seq, draw(length_up_to(purse.fair(seq), seams)));
  }
}

// A prefix of whole pages, and a little more for each sequence or nothing.
void draw_shared(Draw& draw, const LengthBudget& budget, Seams seams, Problem& p) {
  const int most = most_for_all(budget, p.b());
  const int own = draw.one_in(4) ? 0 : std::min(most / 2, 2 * p.page_size + 32);
  const int drawn = draw(length_up_to(most - own, seams));
  p.shared_prefix =
      std::min((drawn + p.page_size - 1) / p.page_size, (most - own) / p.page_size) * p.page_size;
  for (int seq = 0; seq < p.b(); ++seq) {
    seams.s_q = p.s_q[seq];
    p.s_kv[seq] = p.shared_prefix + draw(length_up_to(own, seams));
  }
}

void draw_profile(Draw& draw, const LengthBudget& budget, const Seams& seams, Problem& p) {
  const int most = most_for_all(budget, p.b());
  switch (p.b() == 1 && !draw.one_in(8) ? Profile::kIndependent : draw(profile())) {
    case Profile::kIndependent:
      return draw_independent(draw, budget, seams, p);
    case Profile::kEqual:
      return p.s_kv.assign(p.b(), draw(length_up_to(most, seams)));
    case Profile::kOneLong:
      return draw_one_long(draw, budget, seams, p);
    case Profile::kStairs: {  // around one length, a token more each
      const int middle = draw(length_up_to(most, seams));
      for (int seq = 0; seq < p.b(); ++seq)
        p.s_kv[seq] = std::clamp(middle - p.b() / 2 + seq, 0, most);
      return;
    }
    case Profile::kPadded:  // real rows first, as a graph's batch is padded
      draw_independent(draw, budget, seams, p);
      std::fill(p.s_kv.begin() + draw(inRange(0, p.b())), p.s_kv.end(), 0);
      return;
    case Profile::kSharedPrefix:
      return draw_shared(draw, budget, seams, p);
  }
}

}  // namespace

Gen<int> length_up_to(int max, const Seams& seams) {
  return rc::gen::weightedOneOf<int>(
      {{1, just(0)},
       {1, just(std::min(1, max))},
       {2, clamped(inRange(seams.s_q - 1, seams.s_q + 2), max)},
       {4, axes::near_multiple(seams.tile_tokens, max)},
       {2, axes::near_multiple(32, max)},  // tiles of other kernels, and what they stage at once
       {2, axes::near_multiple(64, max)},
       {4, axes::near_multiple(seams.page_size, max)},
       {4, near_live_splits(max, seams)},
       {6, near_split_length(max, seams)},
       {2, axes::log_up_to(max)},
       {2, inRange(0, max + 1)}});
}

void draw_lengths(Draw draw, const LengthBudget& budget, Seams seams, Problem& p) {
  p.shared_prefix = 0;
  seams.s_q = p.s_q[0];
  draw_profile(draw, budget, seams, p);
  const int shortest = *std::min_element(p.s_kv.begin(), p.s_kv.end());
  if (p.shared_prefix == 0 && shortest >= p.page_size && draw.one_in(4)) {
    const int pages = shortest / p.page_size;
    p.shared_prefix = draw(rc::gen::oneOf(axes::log_up_to(pages), just(pages))) * p.page_size;
  }
}

}  // namespace attest

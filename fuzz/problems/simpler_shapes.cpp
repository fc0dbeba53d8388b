#include <algorithm>
#include <array>
#include <initializer_list>

#include "fuzz/problems/candidates.hpp"

namespace attest {
namespace {

constexpr int kHeadTile = 16;
constexpr int kWideTile = 64;      // of heads, of tokens of a page, of the least split
constexpr int kMostSequences = 8;  // that are treated one by one

void keep_sequences(Problem& p, auto&& keeps) {
  Problem kept = p;
  kept.s_kv.clear();
  kept.s_q.clear();
  for (int seq = 0; seq < p.b(); ++seq) {
    if (!keeps(seq)) continue;
    kept.s_kv.push_back(p.s_kv[seq]);
    kept.s_q.push_back(p.s_q[seq]);
  }
  p = kept;
}

// ---- Bold steps, few on each axis: a loop that begins again after each success pays for all that
// come before it.

void reset_layout(Candidates& candidates) {
  candidates.add_problem([](Problem& p) {
    const Problem plain;
    p.sm_scale = plain.sm_scale;
    p.page_order = plain.page_order;
    p.grid_order = plain.grid_order;
    p.shared_prefix = plain.shared_prefix;
    p.page_base = plain.page_base;
    p.kv_indptr_start = plain.kv_indptr_start;
    p.q_pad = plain.q_pad;
    p.o_pad = plain.o_pad;
    p.q_scale = plain.q_scale;
    p.kv_scale = plain.kv_scale;
    p.page_size = plain.page_size;
  });
}

// Halves first. Of four quarters, some two keep any two sequences together.
void halve_batch(Candidates& candidates) {
  constexpr std::array<std::pair<int, int>, 6> kQuarters = {
      {{0, 1}, {2, 3}, {0, 2}, {1, 3}, {0, 3}, {1, 2}}};
  for (const auto& [first, second] : kQuarters) {
    candidates.add_problem([&](Problem& p) {
      const int b = p.b();
      keep_sequences(p, [=, f = first, s = second](int seq) {
        const int quarter = 4 * seq / b;
        return quarter == f || quarter == s;
      });
    });
  }
}

void fewer_heads(Candidates& candidates) {
  const int h_q = candidates.from().problem.h_q;
  for (const int heads : {1, h_q % kHeadTile, kHeadTile, kHeadTile + 1, kWideTile, h_q / 2}) {
    if (heads > 0) candidates.add_problem([=](Problem& p) { p.h_q = heads; });
  }
}

void fewer_query_tokens(Candidates& candidates) {
  const int most = candidates.from().problem.max_s_q();
  for (const int s_q : {1, 2, most / 2}) {
    candidates.add_problem([=](Problem& p) {
      for (int& own : p.s_q) own = std::min(own, std::max(1, s_q));
    });
  }
}

void fewer_splits(Candidates& candidates) {
  const int splits = candidates.kernel().num_splits(candidates.from().problem);
  for (const int fewer : {1, 2, splits / 2, splits}) {
    if (fewer > 0) candidates.add_problem([=](Problem& p) { p.num_splits = fewer; });
  }
}

// Shorter, but as far from an edge of a tile or page as it is, or nearly empty.
std::array<int, 8> shorter_lengths(int length, int tile) {
  const int wide = length % kWideTile;
  const int half = length / kWideTile / 2 * kWideTile + wide;
  return {0, 1, kWideTile + 1, length % tile, tile + length % tile, wide, kWideTile + wide, half};
}

void shorten_all(Candidates& candidates) {
  const Problem& from = candidates.from().problem;
  const int tile = candidates.kernel().contract(from).arithmetic.tile_tokens;
  for (std::size_t i = 0; i < shorter_lengths(0, tile).size(); ++i) {
    candidates.add_problem([&](Problem& p) {
      for (int& length : p.s_kv) length = std::min(length, shorter_lengths(length, tile)[i]);
    });
  }
}

// ---- Small steps.

void smaller_pages(Candidates& candidates) {
  for (const int page_size : {1, 16}) {
    candidates.add_problem([=](Problem& p) { p.page_size = page_size; });
  }
}

void reset_layout_by_parts(Candidates& candidates) {
  const Problem plain;
  candidates.add_problem([&](Problem& p) { p.shared_prefix = plain.shared_prefix; });
  candidates.add_problem([&](Problem& p) { p.page_base = plain.page_base; });
  candidates.add_problem([&](Problem& p) { p.kv_indptr_start = plain.kv_indptr_start; });
  candidates.add_problem([&](Problem& p) { p.kv_indptr_start = std::min(p.kv_indptr_start, 1); });
  candidates.add_problem([&](Problem& p) { p.q_pad = plain.q_pad; });
  candidates.add_problem([&](Problem& p) { p.q_pad = std::min(p.q_pad, 8); });
  candidates.add_problem([&](Problem& p) { p.o_pad = plain.o_pad; });
  candidates.add_problem([&](Problem& p) { p.o_pad = std::min(p.o_pad, 8); });
  candidates.add_problem([&](Problem& p) {
    p.q_type = plain.q_type;
    p.kv_type = plain.kv_type;
    p.q_scale = plain.q_scale;
    p.kv_scale = plain.kv_scale;
  });
  candidates.add_problem([&](Problem& p) { p.q_scale = plain.q_scale; });
  candidates.add_problem([&](Problem& p) { p.kv_scale = plain.kv_scale; });
  candidates.add_problem([&](Problem& p) { p.page_order = plain.page_order; });
  candidates.add_problem([&](Problem& p) { p.grid_order = plain.grid_order; });
  candidates.add_problem([&](Problem& p) { p.sm_scale = plain.sm_scale; });
  candidates.add_problem(
      [&](Problem& p) { p.shared_prefix = std::min(p.shared_prefix, p.page_size); });
}

// The sequences that small steps take one by one: all of a small batch.
int single_sequences(const Candidates& candidates) {
  return std::min(candidates.from().problem.b(), kMostSequences);
}

void drop_one_sequence(Candidates& candidates) {
  for (int dropped = 0; dropped < single_sequences(candidates); ++dropped) {
    candidates.add_problem(
        [=](Problem& p) { keep_sequences(p, [=](int seq) { return seq != dropped; }); });
  }
}

void shorten_one(Candidates& candidates) {
  const Problem& from = candidates.from().problem;
  const int tile = candidates.kernel().contract(from).arithmetic.tile_tokens;
  for (int seq = 0; seq < single_sequences(candidates); ++seq) {
    const int length = from.s_kv[seq];
    const auto shorten = [&](int to) {
      if (to >= 0 && to < length) candidates.add_problem([=](Problem& p) { p.s_kv[seq] = to; });
    };
    for (const int to : shorter_lengths(length, tile)) shorten(to);
    for (const int to :
         {tile - 1, tile, tile + 1, kWideTile - 1, kWideTile, kWideTile + 1, length / 2,
          length - length / 4, length - kWideTile, length - tile, length - 1}) {
      shorten(to);
    }
  }
}

void fewer_query_tokens_of_one(Candidates& candidates) {
  for (int seq = 0; seq < single_sequences(candidates); ++seq) {
    for (const int s_q : {1, candidates.from().problem.s_q[seq] - 1}) {
      if (s_q > 0) candidates.add_problem([=](Problem& p) { p.s_q[seq] = s_q; });
    }
  }
}

// A query token and its token of the cache go together: what a row sees stays.
void one_less_of_all(Candidates& candidates) {
  candidates.add_problem([](Problem& p) {
    for (int& s_q : p.s_q) s_q = std::max(1, s_q - 1);
    for (int& length : p.s_kv) length = std::max(0, length - 1);
  });
  candidates.add_problem([](Problem& p) {
    for (int& s_q : p.s_q) s_q = std::max(1, s_q - 1);
  });
  candidates.add_problem([](Problem& p) { --p.h_q; });
  candidates.add_problem([](Problem& p) { --p.num_splits; });
}

}  // namespace

std::vector<Case> smaller_shapes(const Case& c, const Kernel& kernel) {
  const Problem& p = c.problem;
  Candidates candidates(c, kernel);
  reset_layout(candidates);

  // The axis that is furthest from small goes first.
  struct Axis {
    double times_too_large;
    void (*shrink)(Candidates&);
  };
  const int longest = *std::max_element(p.s_kv.begin(), p.s_kv.end());
  const int two_tiles = 2 * kernel.contract(p).arithmetic.tile_tokens;
  std::array<Axis, 5> axes = {{{p.b() / 2.0, halve_batch},
                               {1.0 * p.h_q / kHeadTile, fewer_heads},
                               {p.max_s_q() / 4.0, fewer_query_tokens},
                               {kernel.num_splits(p) / 16.0, fewer_splits},
                               {1.0 * longest / two_tiles, shorten_all}}};
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) {
    return a.times_too_large > b.times_too_large;
  });
  for (const Axis& axis : axes) axis.shrink(candidates);
  for (const auto& shrink : {smaller_pages, reset_layout_by_parts, drop_one_sequence, shorten_one,
                             fewer_query_tokens_of_one, one_less_of_all}) {
    shrink(candidates);
  }
  return std::move(candidates).list();
}

}  // namespace attest

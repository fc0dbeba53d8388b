#include "fuzz/problems/rare_plans.hpp"

#include <vector>

namespace attest {
namespace {

using rc::gen::inRange;

template <class T>
rc::Gen<T> any_of(std::vector<T> values) {
  return rc::gen::elementOf(std::move(values));
}

// A length of which `live` splits are live, the last one short, whole, or longer than the others.
int length_of_live_splits(Draw draw, const Kernel& kernel, const Problem& p, int live) {
  const int split = kernel.contract(p).split_rule.min_tokens;
  return split * (live - 1) + draw(any_of<int>({1, split / 2, split - 1, split, split + 1}));
}

void one_sequence(Draw draw, const Kernel& kernel, int heads, int splits, int live, Problem& p) {
  p.h_q = heads;
  p.s_q = {1};
  p.s_kv = {1};
  p.num_splits = splits;
  p.s_kv = {length_of_live_splits(draw, kernel, p, live)};
}

// The merge goes through more splits than it weighs at a time.
void many_splits_of_a_row(Draw draw, const Kernel& kernel, Problem& p) {
  const int splits = draw(any_of<int>({65, 66, 80, 95, 96, 127, 128, 129, 192, 255, 256}));
  const int live = draw(inRange(2, splits + 1));
  one_sequence(draw, kernel, 1, splits, draw.one_in(2) ? splits : live, p);
}

void many_splits_of_64_heads(Draw draw, const Kernel& kernel, Problem& p) {
  const int splits = draw(any_of<int>({8, 9, 15, 16, 17, 18, 24}));
  one_sequence(draw, kernel, 64, splits, draw.one_in(2) ? splits : draw(inRange(2, splits + 1)), p);
}

// More query tokens, rows and sequences than a small plan has, each short.
void many_rows(Draw draw, const Kernel&, Problem& p) {
  const int b = draw(any_of<int>({25, 33, 67, 68, 81, 96, 129, 140}));
  p.h_q = draw(any_of<int>({1, 1, 2, 12}));
  if (b > 70) p.h_q = draw(any_of<int>({1, 2}));
  p.s_q.assign(b, 1);
  if (b <= 40) p.s_q.assign(b, draw(any_of<int>({1, 2, 4})));
  p.num_splits = draw(any_of<int>({1, 2, 3}));
  p.s_kv.assign(b, 0);
  for (int& s_kv : p.s_kv) s_kv = draw(any_of<int>({0, 1, 2, 17, 64, 65, 70, 130}));
}

void one_long_late_in_a_batch(Draw draw, const Kernel& kernel, Problem& p) {
  const int b = draw(any_of<int>({5, 9, 17, 24, 25, 26, 33, 34}));
  p.h_q = draw(any_of<int>({1, 2, 3}));
  p.s_q.assign(b, 1);
  p.num_splits = draw(any_of<int>({2, 3, 4, 5, 8, 9}));
  p.s_kv.assign(b, 1);
  for (int& s_kv : p.s_kv) s_kv = draw(any_of<int>({0, 1, 3, 16, 64, 65, 128}));
  const int last = b - 1 - draw(inRange(0, 3));
  p.s_kv[last] = length_of_live_splits(draw, kernel, p, p.num_splits);
}

void long_context(Draw draw, const Kernel&, Problem& p) {
  p.h_q = draw(any_of<int>({1, 2}));
  p.s_q = {1};
  p.num_splits = draw(any_of<int>({1, 2, 16, 64}));
  p.s_kv = {32768 + draw(inRange(-20, 400))};
}

}  // namespace

void draw_rare_plan(Draw draw, const Kernel& kernel, Problem& p) {
  p.shared_prefix = 0;
  switch (draw(inRange(0, 12))) {
    case 0:
    case 1:
    case 2:
      return many_splits_of_a_row(draw.branch(), kernel, p);
    case 3:
    case 4:
      return many_splits_of_64_heads(draw.branch(), kernel, p);
    case 5:
    case 6:
    case 7:
      return many_rows(draw.branch(), kernel, p);
    case 8:
    case 9:
    case 10:
      return one_long_late_in_a_batch(draw.branch(), kernel, p);
    default:
      return long_context(draw.branch(), kernel, p);
  }
}

}  // namespace attest

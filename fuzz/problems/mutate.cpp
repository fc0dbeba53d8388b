#include <algorithm>
#include <cmath>

#include "fuzz/problems/cost.hpp"
#include "fuzz/problems/draw.hpp"
#include "fuzz/problems/draw_axes.hpp"
#include "fuzz/problems/draw_lengths.hpp"
#include "fuzz/problems/draw_source.hpp"
#include "harness/core/check.hpp"

namespace attest {
namespace {

using rc::gen::inRange;

const Kernel* kernel_of(const Case& c, const DrawOptions& options) {
  const auto found = std::find_if(options.kernels.begin(), options.kernels.end(),
                                  [&](const Kernel* kernel) { return kernel->name() == c.kernel; });
  return found == options.kernels.end() ? nullptr : *found;
}

// What makes other axes of it impossible is put right.
void repair(Problem& p) {
  p.s_q.resize(p.s_kv.size(), p.s_q.back());
  const int shortest = *std::min_element(p.s_kv.begin(), p.s_kv.end());
  p.shared_prefix = std::min(p.shared_prefix, shortest) / p.page_size * p.page_size;
}

int moved(Draw& draw, int value, int low, int high) {
  return std::clamp(value + draw(rc::gen::element(-1, 1)), low, high);
}

void step_length(Draw& draw, const Kernel& kernel, Problem& p) {
  const int seq = draw(inRange(0, p.b()));
  const Seams seams{.s_q = p.s_q[seq],
                    .tile_tokens = kernel.contract(p).arithmetic.tile_tokens,
                    .page_size = p.page_size,
                    .split_rule = kernel.contract(p).split_rule,
                    .num_splits = kernel.num_splits(p)};
  int& length = p.s_kv[seq];
  switch (draw(inRange(0, 3))) {
    case 0:
      length = moved(draw, length, 0, kMaxContext);
      break;
    case 1:
      length = draw(length_up_to(std::min(kMaxContext, 2 * length + 64), seams));
      break;
    default:
      length = std::max(0, length + draw(rc::gen::element(-64, -16, 16, 64)));
  }
}

void step_batch(Draw& draw, Problem& p) {
  const int seq = draw(inRange(0, p.b()));
  if (p.b() > 1 && draw.one_in(2)) {
    p.s_kv.erase(p.s_kv.begin() + seq);
    p.s_q.erase(p.s_q.begin() + seq);
  } else {
    p.s_kv.push_back(p.s_kv[seq]);
    p.s_q.push_back(p.s_q[seq]);
  }
}

void step_query_tokens(Draw& draw, Problem& p) {
  const int s_q = draw(inRange(1, kMaxQueryTokens + 1));
  if (draw.one_in(2)) return p.s_q.assign(p.b(), s_q);
  p.s_q[draw(inRange(0, p.b()))] = s_q;
}

void step_heads(Draw& draw, Problem& p) {
  p.h_q = draw.one_in(2) ? moved(draw, p.h_q, 1, kMaxHeads) : draw(axes::heads());
}

void step_splits(Draw& draw, Problem& p) {
  p.num_splits =
      draw.one_in(2) ? moved(draw, p.num_splits, 0, kMaxSplits) : draw(axes::num_splits());
}

void step_scale(Draw& draw, Problem& p) {
  if (draw.one_in(3)) {
    p.sm_scale = draw(axes::sm_scale());
  } else {
    const float factor = draw(rc::gen::element(-1.0f, 0.5f, 0.9f, 1.1f, 2.0f));
    p.sm_scale = std::clamp(p.sm_scale * factor, -64.0f, 64.0f);
  }
}

void step_layout(Draw& draw, Problem& p) {
  switch (draw(inRange(0, 7))) {
    case 0:
      p.page_size = draw(axes::page_size());
      p.page_base = draw(axes::page_base(p.page_size));
      break;
    case 1:
      p.page_base = draw(axes::page_base(p.page_size));
      break;
    case 2:
      p.page_order = draw(axes::page_order());
      break;
    case 3:
      p.grid_order = draw(axes::grid_order());
      break;
    case 4:
      p.kv_indptr_start = draw(axes::kv_indptr_start());
      break;
    case 5:
      (draw.one_in(2) ? p.q_pad : p.o_pad) = draw(axes::pad());
      break;
    default:
      p.shared_prefix = draw(axes::log_up_to(*std::min_element(p.s_kv.begin(), p.s_kv.end())));
  }
}

void step_descale(Draw& draw, Problem& p) {
  if (p.q_type == Storage::kFp8 && draw.one_in(2)) {
    p.q_scale = draw(axes::descale());
  } else if (p.kv_type == Storage::kFp8) {
    p.kv_scale = draw(axes::descale());
  }
}

// Data first: of one shape, the worst ratio differs most between data.
void step(Draw& draw, const Kernel& kernel, Case& c) {
  constexpr int kDescaleIn = 8;
  const bool fp8 = c.problem.q_type == Storage::kFp8 || c.problem.kv_type == Storage::kFp8;
  if (fp8 && draw.one_in(kDescaleIn)) return step_descale(draw, c.problem);
  switch (draw(rc::gen::weightedElement<int>(
      {{5, 0}, {3, 1}, {4, 2}, {1, 3}, {2, 4}, {2, 5}, {2, 6}, {2, 7}, {2, 8}, {1, 9}}))) {
    case 0:
      c.seed = {draw(axes::seed())};
      break;
    case 1:
      c.distribution = draw(axes::distribution());
      break;
    case 2:
      step_length(draw, kernel, c.problem);
      break;
    case 3:
      step_batch(draw, c.problem);
      break;
    case 4:
      step_query_tokens(draw, c.problem);
      break;
    case 5:
      step_heads(draw, c.problem);
      break;
    case 6:
      step_splits(draw, c.problem);
      break;
    case 7:
      step_scale(draw, c.problem);
      break;
    case 8:
      step_layout(draw, c.problem);
      break;
    default:
      c.schedule = draw(axes::schedule());
  }
  repair(c.problem);
}

}  // namespace

Case mutate_case(const Case& c, std::uint64_t seed, const DrawOptions& options) {
  const Kernel* const kernel = kernel_of(c, options);
  ATTEST_CHECK(kernel != nullptr);
  const double most_ms = std::max(options.usual_ms, cost_ms(c.problem, *kernel));
  Draw draw{rc::Random(seed)};
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    Case next = c;
    step(draw, *kernel, next);
    if (draw.one_in(2)) step(draw, *kernel, next);
    const bool takes = why_invalid(next.problem).empty() &&
                       kernel->why_unsupported(next.problem).empty() &&
                       cost_ms(next.problem, *kernel) <= most_ms;
    if (takes && next != c) return next;
  }
  Case next = c;  // other data are always possible
  ++next.seed.value;
  return next;
}

}  // namespace attest

#include "fuzz/problems/draw.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "fuzz/problems/cost.hpp"
#include "fuzz/problems/draw_axes.hpp"
#include "fuzz/problems/draw_lengths.hpp"
#include "fuzz/problems/draw_source.hpp"
#include "fuzz/problems/rare_plans.hpp"
#include "harness/core/check.hpp"
#include "harness/core/random.hpp"

namespace attest {
namespace {

using rc::gen::inRange;

rc::Gen<double> times_usual() {
  return rc::gen::weightedElement<double>({{12, 0.3}, {20, 1.0}, {7, 3.0}, {1, 10.0}});
}

// Uniform, or one for each sequence.
void draw_query_tokens(Draw draw, Problem& p) {
  p.s_q.assign(p.b(), draw(axes::query_tokens()));
  if (!draw.one_in(3)) return;
  for (int& s_q : p.s_q) s_q = draw(inRange(1, kMaxQueryTokens + 1));
}

void halve_query_tokens(Problem& p) {
  for (int& s_q : p.s_q) s_q = (s_q + 1) / 2;
}

// What a problem with a token in each sequence costs: rows, and partials and workgroups of splits.
// Until it leaves some of the budget to the lengths, one of its axes is halved, any of them, so
// that each is sometimes large.
void make_affordable(Draw draw, const Kernel& kernel, double budget_ms, Problem& p) {
  constexpr double kMostOfIt = 0.7;
  constexpr int kSteps = 40;  // 128 sequences, 256 splits, 8 query tokens, 128 heads: 7 + 8 + 3 + 7
  for (int i = 0; i < kSteps && cost_ms(p, kernel) > kMostOfIt * budget_ms; ++i) {
    switch (draw(inRange(0, 4))) {
      case 0:
        p.s_kv.resize((p.b() + 1) / 2);
        p.s_q.resize(p.s_kv.size());
        break;
      case 1:
        if (const int splits = kernel.num_splits(p); splits > 1) p.num_splits = splits / 2;
        break;
      case 2:
        halve_query_tokens(p);
        break;
      default:
        p.h_q = std::min(p.h_q, draw(axes::heads()));
    }
  }
}

LengthBudget length_budget(const Kernel& kernel, double budget_ms, const Problem& p) {
  Problem empty = p;
  empty.s_kv.assign(p.b(), 0);
  // Costs of sequences add up, so that one stands for itself.
  const auto alone = [&kernel, &p, splits = kernel.num_splits(p)](int seq, int length) {
    Problem one = p;
    one.s_kv = {length};
    one.s_q = {p.s_q[seq]};
    one.num_splits = splits;
    return cost_ms(one, kernel);
  };
  return {.total_ms = budget_ms - cost_ms(empty, kernel),
          .cost_ms = [=](int seq, int length) { return alone(seq, length) - alone(seq, 0); }};
}

constexpr int kRarePlanIn = 8;  // one problem in so many
constexpr double kMostTimesUsual = 10;

Problem draw_problem(Draw draw, const Kernel& kernel, double budget_ms, double most_ms) {
  Problem p;
  p.h_q = draw(axes::heads());
  p.s_kv.assign(draw(axes::batch()), 1);
  draw_query_tokens(draw.branch(), p);
  p.page_size = draw(axes::page_size());
  p.num_splits = draw(axes::num_splits());
  p.sm_scale = draw(axes::sm_scale());
  p.page_order = draw(axes::page_order());
  p.grid_order = draw(axes::grid_order());
  p.page_base = draw(axes::page_base(p.page_size));
  p.kv_indptr_start = draw(axes::kv_indptr_start());
  p.q_pad = draw(axes::pad());
  p.o_pad = draw(axes::pad());
  if (draw.one_in(kRarePlanIn)) {
    Problem rare = p;
    draw_rare_plan(draw.branch(), kernel, rare);
    if (cost_ms(rare, kernel) <= most_ms) return rare;
  }
  make_affordable(draw.branch(), kernel, budget_ms, p);
  const Seams seams{.tile_tokens = kernel.contract(p).arithmetic.tile_tokens,
                    .page_size = p.page_size,
                    .split_rule = kernel.contract(p).split_rule,
                    .num_splits = kernel.num_splits(p)};
  draw_lengths(draw.branch(), length_budget(kernel, budget_ms, p), seams, p);
  return p;
}

constexpr std::pair<Storage, Storage> kStorages[] = {{Storage::kBf16, Storage::kBf16},
                                                     {Storage::kBf16, Storage::kFp8},
                                                     {Storage::kFp8, Storage::kFp8}};

// One of the storages that the kernel takes, with descale factors.
void draw_storage(Draw draw, const Kernel& kernel, Problem& p) {
  std::vector<Problem> taken;
  for (const auto& [q_type, kv_type] : kStorages) {
    Problem stored = p;
    stored.q_type = q_type;
    stored.kv_type = kv_type;
    if (kernel.why_unsupported(stored).empty()) taken.push_back(stored);
  }
  if (taken.empty()) return;
  p = taken[draw(inRange<std::size_t>(0, taken.size()))];
  if (p.q_type == Storage::kFp8) p.q_scale = draw(axes::descale());
  if (p.kv_type == Storage::kFp8) p.kv_scale = draw(axes::descale());
}

// Of its own, so that what is drawn of kernels of bf16 does not depend on it.
rc::Random storage_random(std::uint64_t seed, std::int64_t index) {
  constexpr std::uint64_t kStorage = 0x73746f72616765;
  return rc::Random(mix64(mix64(seed ^ kStorage) + kGolden * static_cast<std::uint64_t>(index)));
}

}  // namespace

Case draw_case(std::uint64_t seed, std::int64_t index, const DrawOptions& options) {
  ATTEST_CHECK(!options.kernels.empty());
  Draw draw(rc::Random(mix64(mix64(seed) + kGolden * static_cast<std::uint64_t>(index))));
  const auto count = static_cast<int>(options.kernels.size());
  const Kernel& kernel = *options.kernels[draw(inRange(0, count))];
  const double budget_ms = options.usual_ms * draw(times_usual());
  Case c;
  c.kernel = kernel.name();
  c.distribution = draw(axes::distribution());
  c.seed = {draw(axes::seed())};
  c.schedule = draw(axes::schedule());
  Draw storages(storage_random(seed, index));
  constexpr int kTries = 1000;  // for kernels that take little of what is drawn
  for (int i = 0; i < kTries; ++i) {
    c.problem = draw_problem(draw.branch(), kernel, budget_ms, kMostTimesUsual * options.usual_ms);
    draw_storage(storages.branch(), kernel, c.problem);
    if (kernel.why_unsupported(c.problem).empty()) return c;
  }
  return c;
}

std::string why_never_drawn(const Kernel& kernel, std::uint64_t seed) {
  constexpr int kCases = 3;
  const Kernel* const alone[] = {&kernel};
  std::map<std::string, int> reasons;
  for (int i = 0; i < kCases; ++i) {
    const std::string why = kernel.why_unsupported(draw_case(seed, i, {.kernels = alone}).problem);
    if (why.empty()) return "";
    ++reasons[why];
  }
  return std::max_element(reasons.begin(), reasons.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

}  // namespace attest

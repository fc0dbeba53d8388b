#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "harness/core/parallel.hpp"
#include "reference/job.hpp"
#include "reference/score_tests.hpp"

namespace attest {
namespace {

constexpr std::size_t kGroupBytes = std::size_t{256} << 20;  // of jobs that run at one time

struct Item {
  std::size_t job, part;  // part: a chunk, a split, or a row of the block
};

class Run {
 public:
  Run(const Problem& problem, const Inputs& inputs, const Contract& contract, int num_splits,
      const Plan& plan, int threads, ScoreTests& scores)
      : problem_(problem),
        inputs_(inputs),
        contract_(contract),
        plan_(plan),
        threads_(std::max(threads, 1)),
        scores_(scores) {
    for (int t = 0; t < threads_; ++t) {
      workers_.push_back(std::make_unique<TileWorker>(problem, inputs, contract.arithmetic, plan));
    }
    for (int sequence = 0; sequence < problem.b(); ++sequence) {
      for (int row = 0; row < problem.s_q[sequence] * problem.h_q; row += kBlockRows) {
        jobs_.emplace_back(problem, contract, num_splits, sequence, row);
      }
    }
  }

  [[nodiscard]] bool all(Reference& result) {
    for (std::size_t begin = 0, end = 0; begin < jobs_.size(); begin = end) {
      for (std::size_t bytes = 0; end < jobs_.size() && (end == begin || bytes < kGroupBytes);
           ++end) {
        bytes += jobs_[end].bytes(plan_);
      }
      const bool done = group(begin, end, result);
      for (std::size_t j = begin; j < end; ++j) jobs_[j].release();
      if (!done) return false;
    }
    return true;
  }

 private:
  template <class Work>
  [[nodiscard]] bool each(const std::vector<Item>& items, const Work& work) {
    return parallel_for(threads_, items.size(), [&](int worker, std::size_t i) {
      work(*workers_[worker], jobs_[items[i].job], items[i].part);
    });
  }

  [[nodiscard]] bool group(std::size_t begin, std::size_t end, Reference& result) {
    std::vector<Item> chunks, splits, rows;
    for (std::size_t j = begin; j < end; ++j) {
      const auto list = [j](std::vector<Item>& items, std::size_t parts) {
        for (std::size_t part = 0; part < parts; ++part) items.push_back({j, part});
      };
      jobs_[j].allocate(plan_);
      list(chunks, jobs_[j].chunks.size());
      list(splits, jobs_[j].splits.size());
      list(rows, jobs_[j].block.rows);
    }
    return each(chunks,
                [](TileWorker& worker, Job& job, std::size_t c) {
                  worker.score(job.block, job.chunks[c], job.errors[job.chunks[c].split],
                               job.scores, job.chunk_largest[c]);
                }) &&
           each(splits,
                [&](TileWorker&, Job& job, std::size_t split) {
                  schedule_split(problem_, contract_.arithmetic, plan_, static_cast<int>(split),
                                 job);
                }) &&
           (!plan_.tiers || each(rows,
                                 [&](TileWorker&, Job& job, std::size_t row) {
                                   count_repeats(contract_.arithmetic, plan_, static_cast<int>(row),
                                                 job);
                                 })) &&
           each(chunks,
                [](TileWorker& worker, Job& job, std::size_t c) {
                  const Chunk& chunk = job.chunks[c];
                  worker.accumulate(job.block, chunk, job.errors[chunk.split], job.scores,
                                    job.split_largest[chunk.split], job.chunk_largest[c],
                                    job.sums[c]);
                }) &&
           each(rows,
                [&](TileWorker&, Job& job, std::size_t row) {
                  finish_row(problem_, inputs_, contract_, plan_, job, static_cast<int>(row),
                             result);
                }) &&
           (!plan_.blocks || score_group(begin, end, result));
  }

  [[nodiscard]] bool score_group(std::size_t begin, std::size_t end, const Reference& result) {
    std::vector<ScoreTests::OfJob> of_jobs(end - begin);
    const bool done = parallel_for(threads_, end - begin, [&](int, std::size_t i) {
      of_jobs[i] = scores_.run(jobs_[begin + i], result);
    });
    for (std::size_t i = 0; done && i < of_jobs.size(); ++i)
      scores_.add(jobs_[begin + i], of_jobs[i]);
    return done;
  }

  const Problem& problem_;
  const Inputs& inputs_;
  const Contract& contract_;
  const Plan plan_;
  const int threads_;
  ScoreTests& scores_;
  std::vector<std::unique_ptr<TileWorker>> workers_;
  std::vector<Job> jobs_;
};

void prepare(std::int64_t rows, std::size_t parts, Bound& bound) {
  bound.o.assign(rows * kDV, 0.0f);
  bound.lse.assign(rows, 0.0f);
  bound.partial_o.assign(parts * kDV, 0.0f);
  bound.partial_lse.assign(parts, 0.0f);
}

// A row that sees no token keeps these values; its bound is 0.
void prepare(std::int64_t rows, int num_splits, const Plan& plan, Reference& result) {
  const std::size_t parts = num_splits == 1 ? 0 : static_cast<std::size_t>(rows) * num_splits;
  const double none = -std::numeric_limits<double>::infinity();
  result.expected.rows = rows;
  result.expected.num_splits = num_splits;
  result.expected.o.assign(rows * kDV, 0.0);
  result.expected.lse.assign(rows, none);
  result.expected.partial_o.assign(parts * kDV, 0.0);
  result.expected.partial_lse.assign(parts, none);
  if (plan.bounds) prepare(rows, parts, result.tiers.t0);
  if (!plan.tiers) return;
  if (plan.declared) {
    for (Bound* bound : {&result.tiers.t2, &result.tiers.t2p, &result.tiers.p_shift})
      prepare(rows, parts, *bound);
  } else {
    prepare(rows, parts, result.tiers.t1);
  }
  result.rows.resize(rows);
  result.temperature_o.assign(rows * kDV, 0.0f);
  result.temperature_lse.assign(rows, 0.0f);
}

// Rows that decide a lazy rescale together lie in one block.
bool groups_fit(const Problem& problem, const Arithmetic& a) {
  if (a.lazy_rescale == 0 || a.lazy_heads == 1) return true;
  for (int token = 0; token < problem.max_s_q(); ++token) {
    for (int head = 0; head < problem.h_q; head += a.lazy_heads) {
      const int first = token * problem.h_q + head;
      const int last = first + std::min(a.lazy_heads, problem.h_q - head) - 1;
      if (first / kBlockRows != last / kBlockRows) return false;
    }
  }
  return true;
}

[[nodiscard]] bool run(const Problem& problem, const Inputs& inputs, const Contract& contract,
                       int num_splits, const Plan& plan, int threads, ScoreTests& scores,
                       Reference& result) {
  prepare(problem.rows(), num_splits, plan, result);
  return Run(problem, inputs, contract, num_splits, plan, threads, scores).all(result);
}

// All tiers are about what the rounded q gives; what the verdict is about is the formula.
void shift_to(const Expected& exact, Reference& result) {
  Tiers& tiers = result.tiers;
  prepare(exact.rows, exact.partial_lse.size(), tiers.q_shift);
  const auto shift = [](const std::vector<double>& to, std::vector<double>& from,
                        std::vector<float>& q, std::vector<float>& p) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i] == from[i]) continue;
      q[i] = static_cast<float>(from[i] - to[i]);
      if (!p.empty()) p[i] = static_cast<float>(from[i] - to[i] + p[i]);
    }
    from = to;
  };
  Expected& e = result.expected;
  shift(exact.o, e.o, tiers.q_shift.o, tiers.p_shift.o);
  shift(exact.lse, e.lse, tiers.q_shift.lse, tiers.p_shift.lse);
  shift(exact.partial_o, e.partial_o, tiers.q_shift.partial_o, tiers.p_shift.partial_o);
  shift(exact.partial_lse, e.partial_lse, tiers.q_shift.partial_lse, tiers.p_shift.partial_lse);
}

// What a tier is about is kept as a shift in fp32: each rounding of it, half an ulp.
void widen(const std::vector<float>& shift, const std::vector<float>& part,
           std::vector<float>& radius) {
  for (std::size_t i = 0; i < radius.size() && !shift.empty(); ++i) {
    double own = std::fabs(double{shift[i]});
    if (!part.empty()) own += std::fabs(double{shift[i]} - part[i]);
    if (own > 0)
      radius[i] = std::nextafter(static_cast<float>(radius[i] + own * 0x1p-24),
                                 std::numeric_limits<float>::infinity());
  }
}
void widen(const Bound& shift, const Bound& part, Bound& radius) {
  widen(shift.o, part.o, radius.o);
  widen(shift.lse, part.lse, radius.lse);
  widen(shift.partial_o, part.partial_o, radius.partial_o);
  widen(shift.partial_lse, part.partial_lse, radius.partial_lse);
}
void widen_by_stored_shifts(Tiers& t) {
  for (Bound* radius : {&t.t0, &t.t1}) widen(t.q_shift, {}, *radius);
  for (Bound* radius : {&t.t2, &t.t2p}) widen(t.p_shift, t.q_shift, *radius);
}

}  // namespace

std::string why_no_bound(const Problem& problem, const Contract& contract) {
  const bool is_fp8 = problem.q_type == Storage::kFp8 || problem.kv_type == Storage::kFp8;
  if (is_fp8 && contract.arithmetic.scaled_q) {
    return "a contract with scaled_q says nothing of fp8: where its descale factors go is not "
           "declared, so that no bound can be formed";
  }
  return {};
}

Result<Reference> reference(const Problem& problem, const Inputs& inputs, const Contract& contract,
                            int num_splits, const ReferenceOptions& options) {
  if (const std::string why = why_no_bound(problem, contract); !why.empty()) {
    return Trouble{TroubleKind::kUsage, why};
  }
  Plan plan;
  plan.bounds = options.detail != Detail::kPlain;
  plan.tiers = options.detail == Detail::kAll;
  plan.declared = plan.tiers && contract.arithmetic.schedule_declared &&
                  groups_fit(problem, contract.arithmetic);
  plan.blocks = plan.declared && !options.observed.empty();
  try {
    Reference result;
    ScoreTests scores(problem, inputs, contract,
                      plan.blocks ? options.observed : decltype(options.observed){});
    bool done = true;
    if (plan.bounds && contract.arithmetic.scaled_q) {
      Reference exact;
      done = run(problem, inputs, contract, num_splits, Plan{}, options.threads, scores, exact);
      plan.scaled_q = true;
      done =
          done && run(problem, inputs, contract, num_splits, plan, options.threads, scores, result);
      if (done) shift_to(exact.expected, result);
    } else {
      done = run(problem, inputs, contract, num_splits, plan, options.threads, scores, result);
    }
    if (plan.blocks) result.scores = scores.largest();
    if (done) widen_by_stored_shifts(result.tiers);
    if (done) return result;
  } catch (const std::bad_alloc&) {  // below
  }
  return Trouble{TroubleKind::kInfra,
                 fmt::format("no memory on the host for the reference of {} rows in {} splits",
                             problem.rows(), num_splits)};
}

}  // namespace attest

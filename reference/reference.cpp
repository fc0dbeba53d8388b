#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>

#include "harness/core/parallel.hpp"
#include "reference/gpu/gpu_reference.hpp"
#include "reference/job.hpp"
#include "reference/score_tests.hpp"

namespace attest {
namespace {

// Of jobs that run at one time, as BlockJob::bytes counts them: a device has more memory, and less
// of theirs is on the host.
constexpr std::size_t kGroupBytes = std::size_t{256} << 20;
constexpr std::size_t kDeviceGroupBytes = std::size_t{1} << 30;

struct Item {
  std::size_t job, part;  // part: a chunk, a split, or a row of the block
};

class Run {
 public:
  Run(const Problem& problem, const Inputs& inputs, const Contract& contract, int num_splits,
      const Plan& plan, int threads, GpuReference* device, ScoreTests& scores)
      : problem_(problem),
        inputs_(inputs),
        contract_(contract),
        plan_(plan),
        threads_(std::max(threads, 1)),
        device_(device),
        scores_(scores) {
    for (int t = 0; t < threads_ && device == nullptr; ++t) {
      workers_.push_back(std::make_unique<TileWorker>(problem, inputs, contract.arithmetic, plan));
    }
    for (int sequence = 0; sequence < problem.b(); ++sequence) {
      for (int row = 0; row < problem.s_q[sequence] * problem.h_q; row += kBlockRows) {
        jobs_.emplace_back(problem, contract, num_splits, sequence, row);
      }
    }
  }

  Outcome all(Reference& result) {
    if (device_ != nullptr) {
      Outcome begun = device_->begin(problem_, inputs_, contract_.arithmetic, plan_);
      if (!begun.ok()) return begun;
    }
    const std::size_t most = device_ != nullptr ? kDeviceGroupBytes : kGroupBytes;
    for (std::size_t begin = 0, end = 0; begin < jobs_.size(); begin = end) {
      for (std::size_t bytes = 0; end < jobs_.size() && (end == begin || bytes < most); ++end) {
        bytes += jobs_[end].bytes(plan_);
      }
      Outcome done = group(begin, end, result);
      for (std::size_t j = begin; j < end; ++j) jobs_[j].release();
      if (!done.ok()) return done;
    }
    return Done{};
  }

 private:
  // The parts of a group's jobs that threads take one by one.
  struct Items {
    std::vector<Item> chunks, splits, rows;
  };

  // Throws what its threads threw for want of memory.
  template <class Work>
  void parallel(std::size_t items, const Work& work) const {
    if (!parallel_for(threads_, items, work)) throw std::bad_alloc();
  }
  template <class Work>
  void each(const std::vector<Item>& items, const Work& work) {
    parallel(items.size(),
             [&](int worker, std::size_t i) { work(worker, jobs_[items[i].job], items[i].part); });
  }

  Items allocate(std::size_t begin, std::size_t end) {
    Items items;
    for (std::size_t j = begin; j < end; ++j) {
      const auto list = [j](std::vector<Item>& of, std::size_t parts) {
        for (std::size_t part = 0; part < parts; ++part) of.push_back({j, part});
      };
      jobs_[j].allocate(plan_, device_ != nullptr);
      list(items.chunks, jobs_[j].chunks.size());
      list(items.splits, jobs_[j].splits.size());
      list(items.rows, static_cast<std::size_t>(jobs_[j].block.rows));
    }
    return items;
  }

  Outcome group(std::size_t begin, std::size_t end, Reference& result) {
    const Items items = allocate(begin, end);
    const std::span jobs(&jobs_[begin], end - begin);
    if (device_ == nullptr) {
      score_on_host(items);
    } else if (Outcome scored = device_->score(jobs); !scored.ok()) {
      return scored;
    }
    each(items.splits, [&](int, BlockJob& job, std::size_t split) {
      schedule_split(problem_, contract_.arithmetic, plan_, static_cast<int>(split), job);
    });
    if (device_ == nullptr) {
      accumulate_on_host(items);
    } else if (Outcome summed = device_->accumulate(jobs); !summed.ok()) {
      return summed;
    }
    each(items.rows, [&](int, BlockJob& job, std::size_t row) {
      finish_row(problem_, inputs_, contract_, plan_, job, static_cast<int>(row), result);
    });
    if (plan_.blocks && device_ != nullptr) {
      if (Outcome scored = score_tiles_on_device(jobs, result); !scored.ok()) return scored;
    }
    if (plan_.blocks) score_group(items, begin, end, result);
    return Done{};
  }

  void score_on_host(const Items& items) {
    each(items.chunks, [&](int worker, BlockJob& job, std::size_t c) {
      workers_[worker]->score(job.block, job.chunks[c], job.errors[job.chunks[c].split], job.scores,
                              job.chunk_largest[c]);
    });
  }

  void accumulate_on_host(const Items& items) {
    if (plan_.tiers) {
      each(items.rows, [&](int, BlockJob& job, std::size_t row) {
        count_repeats(contract_.arithmetic, plan_, static_cast<int>(row), job);
      });
    }
    each(items.chunks, [&](int worker, BlockJob& job, std::size_t c) {
      const Chunk& chunk = job.chunks[c];
      workers_[worker]->accumulate(job.block, chunk, job.errors[chunk.split], job.scores,
                                   job.split_largest[chunk.split], job.chunk_largest[c],
                                   job.sums[c]);
    });
  }

  Outcome score_tiles_on_device(std::span<BlockJob> jobs, const Reference& result) {
    std::vector<std::size_t> first_split = {0};
    for (const BlockJob& job : jobs) first_split.push_back(first_split.back() + job.splits.size());
    TileResiduals residuals;
    for (std::size_t output = 0; output < scores_.outputs(); ++output) {
      for (auto* values : {&residuals.over_variance, &residuals.inverse, &residuals.centre})
        values->assign(jobs.size() * kBlockRows * kDV, 0.0);
      residuals.scales.assign(first_split.back() * kBlockRows, 0.0);
      parallel(jobs.size(), [&](int, std::size_t j) {
        scores_.fill_residuals(jobs[j], result, output, j, first_split[j], residuals);
      });
      if (Outcome scored = device_->score_tiles(residuals, jobs); !scored.ok()) return scored;
    }
    return Done{};
  }

  void score_group(const Items& items, std::size_t begin, std::size_t end,
                   const Reference& result) {
    std::vector<std::vector<ScoreTests::Tolerances>> tolerances(end - begin);
    for (std::size_t j = begin; j < end; ++j) tolerances[j - begin].resize(kBlockRows);
    parallel(items.rows.size(), [&](int, std::size_t i) {
      const auto [job, row] = items.rows[i];
      tolerances[job - begin][row] =
          scores_.tolerances_of(jobs_[job], result, static_cast<int>(row));
    });
    std::vector<ScoreTests::OfJob> of_jobs(end - begin);
    parallel(end - begin, [&](int, std::size_t i) {
      of_jobs[i] = scores_.run(jobs_[begin + i], result, tolerances[i]);
    });
    for (std::size_t i = 0; i < of_jobs.size(); ++i) scores_.add(jobs_[begin + i], of_jobs[i]);
  }

  const Problem& problem_;
  const Inputs& inputs_;
  const Contract& contract_;
  const Plan plan_;
  const int threads_;
  GpuReference* const device_;
  ScoreTests& scores_;
  std::vector<std::unique_ptr<TileWorker>> workers_;
  std::vector<BlockJob> jobs_;
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

std::int64_t block_tokens(const Problem& problem) {
  std::int64_t tokens = 0;
  for (int s = 0; s < problem.b(); ++s) {
    const int blocks = (problem.s_q[s] * problem.h_q + kBlockRows - 1) / kBlockRows;
    tokens += std::int64_t{problem.s_kv[s]} * blocks;
  }
  return tokens;
}

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
    const bool pays = block_tokens(problem) >= options.tokens_for_device;
    GpuReference* const device = pays ? options.device : nullptr;
    ScoreTests scores(problem, inputs, contract,
                      plan.blocks ? options.observed : decltype(options.observed){});
    const auto run = [&](const Plan& of, Reference& to) {
      prepare(problem.rows(), num_splits, of, to);
      return Run(problem, inputs, contract, num_splits, of, options.threads, device, scores)
          .all(to);
    };
    Reference exact;
    if (plan.bounds && contract.arithmetic.scaled_q) {
      if (const Outcome done = run(Plan{}, exact); !done.ok()) return done.trouble();
      plan.scaled_q = true;
    }
    if (const Outcome done = run(plan, result); !done.ok()) return done.trouble();
    if (plan.scaled_q) shift_to(exact.expected, result);
    if (plan.blocks) result.scores = scores.largest();
    widen_by_stored_shifts(result.tiers);
    if (device != nullptr) result.device = device->name();
    return result;
  } catch (const std::bad_alloc&) {  // below
  }
  return Trouble{TroubleKind::kInfra,
                 fmt::format("no memory on the host for the reference of {} rows in {} splits",
                             problem.rows(), num_splits)};
}

}  // namespace attest

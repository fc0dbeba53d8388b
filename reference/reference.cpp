#include "reference/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "harness/core/parallel.hpp"
#include "reference/job.hpp"

namespace attest {
namespace {

constexpr std::size_t kGroupBytes = std::size_t{256} << 20;  // of jobs that run at one time

struct Item {
  std::size_t job, part;  // part: a chunk, or a row of the block
};

class Run {
 public:
  Run(const Problem& problem, const Inputs& inputs, const Contract& contract, int num_splits,
      int threads)
      : problem_(problem), inputs_(inputs), contract_(contract), threads_(std::max(threads, 1)) {
    for (int t = 0; t < threads_; ++t)
      workers_.push_back(
          std::make_unique<TileWorker>(problem, inputs, contract.arithmetic.tile_tokens));
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
        bytes += jobs_[end].bytes();
      }
      if (!group(begin, end, result)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] bool group(std::size_t begin, std::size_t end, Reference& result) {
    std::vector<Item> chunks, rows;
    for (std::size_t j = begin; j < end; ++j) {
      jobs_[j].allocate();
      for (std::size_t c = 0; c < jobs_[j].chunks.size(); ++c) chunks.push_back({j, c});
      for (int r = 0; r < jobs_[j].block.rows; ++r)
        rows.push_back({j, static_cast<std::size_t>(r)});
    }
    const bool scored = parallel_for(threads_, chunks.size(), [&](int worker, std::size_t i) {
      Job& job = jobs_[chunks[i].job];
      const std::size_t c = chunks[i].part;
      workers_[worker]->score(job.block, job.chunks[c], job.errors[job.chunks[c].split], job.scores,
                              job.chunk_largest[c]);
    });
    if (!scored) return false;
    const bool merged = parallel_for(threads_, end - begin, [&](int, std::size_t i) {
      jobs_[begin + i].merge_largest(contract_.arithmetic);
    });
    const bool summed =
        merged && parallel_for(threads_, chunks.size(), [&](int worker, std::size_t i) {
          Job& job = jobs_[chunks[i].job];
          const Chunk& chunk = job.chunks[chunks[i].part];
          workers_[worker]->accumulate(job.block, chunk, job.errors[chunk.split], job.scores,
                                       job.split_largest[chunk.split], job.sums[chunks[i].part]);
        });
    const bool finished = summed && parallel_for(threads_, rows.size(), [&](int, std::size_t i) {
                            finish_row(problem_, inputs_, contract_, jobs_[rows[i].job],
                                       static_cast<int>(rows[i].part), result);
                          });
    for (std::size_t j = begin; j < end; ++j) jobs_[j].release();
    return finished;
  }

  const Problem& problem_;
  const Inputs& inputs_;
  const Contract& contract_;
  const int threads_;
  std::vector<std::unique_ptr<TileWorker>> workers_;
  std::vector<Job> jobs_;
};

// A row that sees no token keeps these values; its bound is 0.
void prepare(std::int64_t rows, int num_splits, Reference& result) {
  const std::size_t parts = num_splits == 1 ? 0 : static_cast<std::size_t>(rows) * num_splits;
  const double none = -std::numeric_limits<double>::infinity();
  result.expected.rows = rows;
  result.expected.num_splits = num_splits;
  result.expected.o.assign(rows * kDV, 0.0);
  result.expected.lse.assign(rows, none);
  result.expected.partial_o.assign(parts * kDV, 0.0);
  result.expected.partial_lse.assign(parts, none);
  result.tiers.t0.o.assign(rows * kDV, 0.0f);
  result.tiers.t0.lse.assign(rows, 0.0f);
  result.tiers.t0.partial_o.assign(parts * kDV, 0.0f);
  result.tiers.t0.partial_lse.assign(parts, 0.0f);
}

}  // namespace

Result<Reference> reference(const Problem& problem, const Inputs& inputs, const Contract& contract,
                            int num_splits, const ReferenceOptions& options) {
  try {
    Reference result;
    prepare(problem.rows(), num_splits, result);
    if (Run(problem, inputs, contract, num_splits, options.threads).all(result)) return result;
  } catch (const std::bad_alloc&) {  // below
  }
  return Trouble{TroubleKind::kInfra,
                 fmt::format("no memory on the host for the reference of {} rows in {} splits",
                             problem.rows(), num_splits)};
}

}  // namespace attest

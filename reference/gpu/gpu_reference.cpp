#include "reference/gpu/gpu_reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "reference/gpu/gpu_arrays.hpp"
#include "reference/gpu/layout.hpp"
#include "reference/job.hpp"
#include "reference/score_tests.hpp"

namespace attest {

static_assert(sizeof(RowSums) == kRowValues * sizeof(double));
static_assert(sizeof(TileMax) == sizeof(GpuTile));
static_assert(kKeyColumns == kDQk && kValueColumns == kDV);

namespace {

// Which kernels a plan takes.
struct Kernels {
  const char *score, *weigh, *values, *errors;
};
Kernels kernels_of(const Plan& plan) {
  return {.score = plan.bounds ? "reference_score" : "reference_score_plain",
          .weigh = plan.tiers    ? "reference_weigh"
                   : plan.bounds ? "reference_weigh_t0"
                                 : "reference_weigh_plain",
          .values = plan.blocks ? "reference_add_blocks" : "reference_add_values",
          .errors = plan.tiers    ? "reference_add_errors"
                    : plan.bounds ? "reference_add_t0"
                                  : nullptr};
}

// Which of the sums over columns a plan has.
bool is_formed(const Plan& plan, int sum) {
  switch (sum) {
    case kColumnO:
      return true;
    case kColumnT0:
      return plan.bounds;
    case kColumnRigorous:
    case kColumnShift:
      return plan.declared;
    default:
      return plan.tiers;
  }
}

int tiles_of(const Chunk& chunk, int tile_tokens) {
  return (chunk.end - chunk.begin + tile_tokens - 1) / tile_tokens;
}

}  // namespace

class GpuReference::Group {
 public:
  explicit Group(GpuArrays arrays) : arrays_(std::move(arrays)) {}
  GpuArrays& arrays() { return arrays_; }

  Outcome begin(const Problem& problem, const Inputs& inputs, const Arithmetic& arithmetic,
                const Plan& plan) {
    problem_ = &problem;
    inputs_ = &inputs;
    plan_ = plan;
    a_ = {};
    a_.kv_is_fp8 = inputs.kv_type == Storage::kFp8;
    a_.page_shift = std::countr_zero(static_cast<unsigned>(problem.page_size));
    a_.tile_tokens = arithmetic.tile_tokens;
    a_.bounds = plan.bounds;
    a_.tiers = plan.tiers;
    a_.with_blocks = plan.blocks;
    a_.bins = 4 << std::min(arithmetic.p_bits, 12);
    a_.scale = plan.scaled_q ? kLn2 : problem.logit_scale();
    a_.unit = descales_of(problem).values;
    a_.rules = weigh_rules(arithmetic, plan);
    arrays_.start();
    upload_cache();
    arrays_.upload("fp8 codes", std::span(fnuz_values()), a_.codes);
    return arrays_.outcome();
  }

  Outcome score(std::span<BlockJob> jobs) {
    describe(jobs);
    make_room();
    const Kernels kernels = kernels_of(plan_);
    arrays_.launch(kernels.score, chunks_.size() * kGpuParts, 1, a_);
    arrays_.launch("reference_largest", chunks_.size(), 1, a_);
    largest_.resize(chunks_.size());
    arrays_.download(a_.largest, std::span(largest_));
    if (plan_.bounds) {
      tiles_.resize(static_cast<std::size_t>(num_tiles_));
      arrays_.download(a_.tiles, std::span(tiles_));
    }
    std::size_t c = 0;
    for (BlockJob& job : jobs) {
      for (std::size_t i = 0; i < job.chunks.size(); ++i, ++c)
        hand_over(largest_[c], chunks_[c], job.chunks[i], job.chunk_largest[i]);
    }
    return arrays_.outcome();
  }

  Outcome accumulate(std::span<BlockJob> jobs) {
    lanes_.clear();
    upload_schedule(jobs);
    if (plan_.tiers) count_repeats();
    const Kernels kernels = kernels_of(plan_);
    const auto chunks = chunks_.size();
    arrays_.launch(kernels.weigh, chunks, 1, a_);
    arrays_.launch(kernels.values, chunks, kGpuStrips, a_);
    if (kernels.errors != nullptr) arrays_.launch(kernels.errors, chunks, kGpuStrips, a_);
    for (int sum = 0; sum < kColumnSums; ++sum) {
      if (!is_formed(plan_, sum)) continue;
      arrays_.launch("reference_add_chunks", splits_.size(), kBlockValues / kGpuThreads, a_, sum);
    }
    download_sums();
    std::size_t first_chunk = 0, first_split = 0;
    for (BlockJob& job : jobs) {
      if (plan_.blocks) download_scores(static_cast<std::size_t>(&job - jobs.data()), job.scores);
      hand_over(first_chunk, first_split, job);
      first_chunk += job.chunks.size();
      first_split += job.splits.size();
    }
    return arrays_.outcome();
  }

  Outcome score_tiles(const TileResiduals& residuals, std::span<BlockJob> jobs) {
    arrays_.upload("e / s^2", std::span(residuals.over_variance), a_.over_variance);
    arrays_.upload("1 / s^2", std::span(residuals.inverse), a_.inverse);
    arrays_.upload("centres", std::span(residuals.centre), a_.centre);
    arrays_.upload("scales", std::span(residuals.scales), a_.scales);
    constexpr std::size_t kOfTile = std::size_t{kBlockRows} * 2 * kScoreLanes;
    const std::size_t values = static_cast<std::size_t>(num_value_tiles_) * kOfTile;
    arrays_.need("lanes", values * sizeof(double), a_.lanes);
    arrays_.launch("reference_score_tiles", chunks_.size(), kChunkTokens / kValueTile, a_);
    lanes_.emplace_back(values);
    arrays_.download(a_.lanes, std::span(lanes_.back()));
    std::size_t chunk = 0;
    for (BlockJob& job : jobs) {
      const std::size_t tile =
          job.chunks.empty() ? 0 : static_cast<std::size_t>(chunks_[chunk].first_value_tile);
      job.tile_lanes.push_back(lanes_.back().data() + tile * kOfTile);
      chunk += job.chunks.size();
    }
    return arrays_.outcome();
  }

 private:
  // The pages that are used, and of those that are not only what lies in short gaps between.
  void upload_cache() {
    constexpr std::int64_t kShortGap = 1 << 18;  // bytes; a copy more takes as long
    const std::int64_t page_bytes = problem_->page_size * kDQk * bytes_of_element(inputs_->kv_type);
    struct Run {
      std::int64_t first, end, at;  // pages; the first's place on the device
    };
    std::vector<Run> runs;
    for (const std::int64_t page : inputs_->used_pages) {
      if (runs.empty() || (page - runs.back().end) * page_bytes > kShortGap) {
        const std::int64_t at =
            runs.empty() ? 0 : runs.back().at + runs.back().end - runs.back().first;
        runs.push_back({page, page, at});
      }
      runs.back().end = page + 1;
    }
    const std::int64_t pages =
        runs.empty() ? 0 : runs.back().at + runs.back().end - runs.back().first;
    arrays_.need("cache", static_cast<std::size_t>(pages * page_bytes), a_.kv);
    const std::byte* const from = inputs_->kv.data<std::byte>();
    for (const Run& run : runs) {
      arrays_.write(a_.kv, static_cast<std::size_t>(run.at * page_bytes),
                    {from + run.first * page_bytes,
                     static_cast<std::size_t>((run.end - run.first) * page_bytes)});
    }
    place_.assign(inputs_->kv_indices.size(), 0);
    for (int s = 0; s < problem_->b(); ++s) {
      for (std::int64_t i = 0; i < problem_->pages_of(s); ++i) {
        const auto entry = static_cast<std::size_t>(inputs_->kv_indptr[s] + i);
        const std::int64_t page = inputs_->kv_indices[entry];
        const Run& run =
            *(std::upper_bound(runs.begin(), runs.end(), page,
                               [](std::int64_t p, const Run& r) { return p < r.first; }) -
              1);
        place_[entry] = static_cast<int>(run.at + page - run.first);
      }
    }
    arrays_.upload("pages", std::span(place_), a_.pages);
  }

  void describe(std::span<BlockJob> jobs) {
    jobs_.clear();
    chunks_.clear();
    splits_.clear();
    num_tiles_ = num_value_tiles_ = 0;
    a_.tokens = a_.slots = 0;
    q_.resize(jobs.size() * kDQk * kBlockRows);
    for (BlockJob& job : jobs) {
      packed_queries(*problem_, *inputs_, plan_, job.block, &q_[jobs_.size() * kDQk * kBlockRows]);
      describe(job);
    }
    arrays_.upload("queries", std::span(q_), a_.q);
    arrays_.upload("jobs", std::span(jobs_), a_.jobs);
    arrays_.upload("chunks", std::span(chunks_), a_.chunks);
    arrays_.upload("splits", std::span(splits_), a_.splits);
  }

  void describe(const BlockJob& job) {
    const int tokens = job.chunks.empty() ? 0 : job.chunks.back().end;
    GpuJob made;
    made.tokens_before = a_.tokens;
    made.first_slot = a_.slots;
    made.slots = static_cast<int>(std::bit_ceil(std::max(2U * static_cast<unsigned>(tokens), 64U)));
    made.first_page = inputs_->kv_indptr[job.block.sequence];
    made.rows = job.block.rows;
    std::copy_n(job.block.visible, kBlockRows, made.visible);
    const int of_job = static_cast<int>(jobs_.size()),
              first_split = static_cast<int>(splits_.size());
    jobs_.push_back(made);
    a_.tokens += tokens;
    a_.slots += long{kBlockRows} * (plan_.declared ? made.slots : 2 * a_.bins);
    for (std::size_t s = 0; s < job.splits.size(); ++s) {
      GpuSplit split;
      split.errors = job.errors[s];
      split.first_chunk = static_cast<int>(chunks_.size() + job.first_chunk[s]);
      split.end_chunk = static_cast<int>(chunks_.size() + job.first_chunk[s + 1]);
      splits_.push_back(split);
    }
    for (const Chunk& chunk : job.chunks) {
      chunks_.push_back({.job = of_job,
                         .split = first_split + chunk.split,
                         .begin = chunk.begin,
                         .end = chunk.end,
                         .first_tile = num_tiles_,
                         .first_value_tile = num_value_tiles_});
      num_tiles_ += tiles_of(chunk, a_.tile_tokens);
      num_value_tiles_ += tiles_of(chunk, kValueTile);
    }
  }

  void make_room() {
    const auto tokens = static_cast<std::size_t>(a_.tokens) * kBlockRows;
    const std::size_t chunks = chunks_.size(), splits = splits_.size();
    a_.num_chunks = static_cast<int>(chunks);
    a_.num_splits = static_cast<int>(splits);
    constexpr std::size_t kDouble = sizeof(double), kFloat = sizeof(float);
    constexpr std::size_t kSingles = int{kAbsSums} + int{kSignedSums};
    const std::size_t singles = plan_.tiers ? kSingles : 1;
    arrays_.need("x", tokens * kDouble, a_.x);
    arrays_.need("largest", chunks * sizeof(GpuLargest), a_.largest);
    arrays_.need("w", tokens * kDouble, a_.w);
    arrays_.need("row sums", chunks * sizeof(RowSums), a_.row_sums);
    arrays_.need("o", chunks * kBlockValues * kDouble, a_.o);
    arrays_.need("largest v", chunks * kDV * kFloat, a_.largest_v);
    arrays_.need("sums", kColumnSums * splits * kBlockValues * kDouble, a_.of_splits);
    arrays_.need("largest of splits", splits * kDV * kDouble, a_.largest_of_splits);
    if (plan_.bounds) {
      arrays_.need("spread", tokens * kFloat, a_.spread);
      arrays_.need("norm", static_cast<std::size_t>(a_.tokens) * kDouble, a_.norm);
      arrays_.need("tiles", static_cast<std::size_t>(num_tiles_) * sizeof(GpuTile), a_.tiles);
      arrays_.need("weights of |v|", singles * tokens * kFloat, a_.single);
      arrays_.need("sums of |v|", singles * chunks * kBlockValues * kFloat, a_.singles);
    }
    if (plan_.tiers) {
      arrays_.need("repeat", tokens * kFloat, a_.repeat);
      arrays_.need("keys", plan_.declared ? static_cast<std::size_t>(a_.slots) * 8 : 0, a_.keys);
      arrays_.need("counts", static_cast<std::size_t>(a_.slots) * 4, a_.counts);
      arrays_.need("weights of v^2", tokens * kDouble, a_.square);
      arrays_.need("sums of v^2", chunks * kBlockValues * kDouble, a_.squares);
    }
    if (plan_.blocks) {
      const auto tiles = static_cast<std::size_t>(num_value_tiles_);
      arrays_.need("blocks", tiles * kBlockValues * kFloat, a_.blocks);
      arrays_.need("block weights", tiles * kBlockRows * kFloat, a_.block_weight);
    }
  }

  void hand_over(const GpuLargest& from, const GpuChunk& at, const Chunk& chunk,
                 ChunkLargest& to) const {
    std::copy_n(from.all, kBlockRows, to.all);
    std::copy_n(from.token, kBlockRows, to.token);
    std::copy_n(from.logit_error, kBlockRows, to.logit_error);
    if (!plan_.bounds) return;
    const auto first = tiles_.begin() + at.first_tile;
    to.tiles.assign(first, first + tiles_of(chunk, a_.tile_tokens));
  }

  void upload_schedule(std::span<BlockJob> jobs) {
    std::size_t split = 0, chunk = 0;
    for (const BlockJob& job : jobs) {
      for (const SplitLargest& largest : job.split_largest) {
        GpuSplit& to = splits_[split++];
        std::copy_n(largest.score, kBlockRows, to.score);
        std::copy_n(largest.token, kBlockRows, to.token);
        std::copy_n(largest.rescales, kBlockRows, to.rescales);
      }
      for (std::size_t i = 0; plan_.tiers && i < job.chunks.size(); ++i) {
        const auto& tiles = job.chunk_largest[i].tiles;
        std::copy(tiles.begin(), tiles.end(), tiles_.begin() + chunks_[chunk++].first_tile);
      }
    }
    arrays_.upload("splits", std::span(splits_), a_.splits);
    if (plan_.tiers) arrays_.upload("tiles", std::span(tiles_), a_.tiles);
  }

  void count_repeats() {
    const auto slots = static_cast<std::size_t>(a_.slots);
    arrays_.launch("reference_clear_counts", (slots + kGpuThreads - 1) / kGpuThreads, 1, a_);
    arrays_.launch("reference_count", chunks_.size(), 1, a_);
    arrays_.launch("reference_repeat", chunks_.size(), 1, a_);
  }

  void download_sums() {
    const std::size_t splits = splits_.size(), of_sum = splits * kBlockValues;
    row_sums_.resize(chunks_.size());
    arrays_.download(a_.row_sums, std::span(row_sums_));
    largest_v_.resize(splits * kDV);
    arrays_.download(a_.largest_of_splits, std::span(largest_v_));
    for (int sum = 0; sum < kColumnSums; ++sum) {
      if (!is_formed(plan_, sum)) continue;
      columns_[sum].resize(of_sum);
      arrays_.download(a_.of_splits, std::span(columns_[sum]),
                       static_cast<std::size_t>(sum) * of_sum);
    }
  }

  // Which the score tests look at.
  void download_scores(std::size_t job, Scores& to) {
    const auto first = static_cast<std::size_t>(jobs_[job].tokens_before) * kBlockRows;
    arrays_.download(a_.x, std::span(to.x), first);
    arrays_.download(a_.spread, std::span(to.spread), first);
    arrays_.download(a_.repeat, std::span(to.repeat), first);
  }

  void hand_over(std::size_t first_chunk, std::size_t first_split, BlockJob& job) const {
    job.columns.resize(job.splits.size());
    for (std::size_t s = 0; s < job.splits.size(); ++s) {
      const std::size_t split = first_split + s;
      SplitColumns& to = job.columns[s];
      for (int sum = 0; sum < kColumnSums; ++sum) {
        to.sum[sum] = is_formed(plan_, sum) ? &columns_[sum][split * kBlockValues] : nullptr;
      }
      to.largest_v = &largest_v_[split * kDV];
    }
    for (std::size_t c = 0; c < job.chunks.size(); ++c) {
      job.sums[c].rows = row_sums_[first_chunk + c];
    }
  }

  GpuArrays arrays_;
  const Problem* problem_ = nullptr;
  const Inputs* inputs_ = nullptr;
  Plan plan_;
  GpuArguments a_;
  int num_tiles_ = 0, num_value_tiles_ = 0;
  std::vector<int> place_;
  std::vector<float> q_;
  std::vector<GpuJob> jobs_;
  std::vector<GpuChunk> chunks_;
  std::vector<GpuSplit> splits_;
  std::vector<GpuLargest> largest_;
  AlignedVector<TileMax> tiles_;
  AlignedVector<RowSums> row_sums_;
  AlignedVector<double> columns_[kColumnSums], largest_v_;
  std::vector<AlignedVector<double>> lanes_;  // [outputs]
};

GpuReference::GpuReference(std::unique_ptr<Group> group) : group_(std::move(group)) {}
GpuReference::~GpuReference() = default;

Result<std::unique_ptr<GpuReference>> GpuReference::make(std::unique_ptr<Device> device,
                                                         const std::string& code_objects) {
  auto arrays = GpuArrays::make(std::move(device), code_objects);
  if (!arrays.ok()) return arrays.trouble();
  return std::unique_ptr<GpuReference>(
      new GpuReference(std::make_unique<Group>(std::move(*arrays))));
}

std::string GpuReference::code_object(std::string_view target) {
  return GpuArrays::code_object(target);
}
std::string GpuReference::name() const { return group_->arrays().name(); }
double GpuReference::busy_ms() const { return group_->arrays().busy_ms(); }

Outcome GpuReference::begin(const Problem& problem, const Inputs& inputs,
                            const Arithmetic& arithmetic, const Plan& plan) {
  return group_->begin(problem, inputs, arithmetic, plan);
}
Outcome GpuReference::score(std::span<BlockJob> jobs) { return group_->score(jobs); }
Outcome GpuReference::score_tiles(const TileResiduals& residuals, std::span<BlockJob> jobs) {
  return group_->score_tiles(residuals, jobs);
}
Outcome GpuReference::accumulate(std::span<BlockJob> jobs) { return group_->accumulate(jobs); }

}  // namespace attest

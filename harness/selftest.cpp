#include "harness/selftest.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "harness/core/parallel.hpp"

namespace attest {
namespace {

struct Built {
  Result<BuiltMutant> mutant;
  double seconds = 0;
};

Built build_timed(const Mutant& mutant, const BuildOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  auto built = build_mutant(mutant, options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {std::move(built), elapsed.count()};
}

// Threads that build mutants in order, a few ahead of those that are taken.
class Builders {
 public:
  Builders(const std::vector<Mutant>& mutants, const BuildOptions& options, int threads)
      : mutants_(mutants), options_(options), ahead_(static_cast<std::size_t>(threads)) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { build(); });
  }
  ~Builders() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
  }
  Builders(const Builders&) = delete;
  Builders& operator=(const Builders&) = delete;

  Built take(std::size_t i) {
    std::unique_lock lock(mutex_);
    wanted_ = std::max(wanted_, i + 1);
    changed_.notify_all();
    changed_.wait(lock, [&] { return built_.contains(i); });
    Built built = std::move(built_.at(i));
    built_.erase(i);
    return built;
  }

 private:
  void build() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return is_over_ || next_ < wanted_ + ahead_; });
      if (is_over_ || next_ >= mutants_.size()) return;
      const std::size_t i = next_++;
      lock.unlock();
      Built built = build_timed(mutants_[i], options_);
      lock.lock();
      built_.emplace(i, std::move(built));
      changed_.notify_all();
    }
  }

  const std::vector<Mutant>& mutants_;
  const BuildOptions& options_;
  const std::size_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::size_t, Built> built_;
  std::size_t next_ = 0, wanted_ = 0;
  bool is_over_ = false;
  std::vector<std::jthread> threads_;
};

// A mutant's kernels: its own launchers where it edits them.
class Kernels {
 public:
  explicit Kernels(const BuiltMutant& built) {
    for (const Kernel* kernel : all_kernels()) {
      if (auto made = built.make_kernel(kernel->name())) kernels_.push_back(std::move(made));
    }
  }
  std::vector<const Kernel*> all() const {
    std::vector<const Kernel*> kernels;
    for (const auto& kernel : kernels_) kernels.push_back(kernel.get());
    return kernels;
  }
  const Kernel* find(std::string_view name) const {
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const auto& kernel) { return kernel->name() == name; });
    return found == kernels_.end() ? nullptr : found->get();
  }

 private:
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

// Other cases for each mutant, so that the matrix is not that of one handful of cases. FNV-1a.
std::uint64_t seed_of(const Trial& trial, const SelftestOptions& options) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : trial.name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return options.seed ^ hash;
}

int threads_of_job(const SelftestOptions& options) {
  return std::max(1, options.common.threads / options.jobs);
}

void fuzz(const BuiltMutant& built, const SelftestOptions& options, const std::atomic<bool>& stop,
          Trial& trial) {
  const Kernels kernels(built);
  const FindKernel find = [&](std::string_view name) { return kernels.find(name); };
  const Stand stand{runners_of_mutant(built, options, find), find};
  const auto source = random_cases(
      {seed_of(trial, options), kernels.all(), options.properties, options.is_emulated});
  CampaignLimits limits{.seconds = options.seconds,
                        .threads = threads_of_job(options),
                        .reruns = 1,
                        .buckets = 2,  // a suspect may come first
                        .shrink = options.shrink};
  if (trial.is_benign) limits.cases = options.benign_cases, limits.seconds = 0;
  CampaignEvents events;
  events.enough = [&](const CampaignResult& r) {
    return r.tally.failed + r.tally.crashed + r.tally.hung > 0 && r.cases >= options.cases;
  };
  events.failed = [&](const Case&, const Verdict& verdict, bool) {
    if (verdict.status == Status::kInfra) trial.trouble = verdict.reason;
  };
  trial.result = run_campaign(*source, stand, limits, events, stop);
  if (trial.trouble.empty()) trial.trouble = trial.result.trouble.text;
  if (trial.is_benign && trial.result.tally.passed == 0 && trial.trouble.empty()) {
    trial.trouble = "no case passed";
  }
  // A suspect kills no defect, but it is an alarm on what is right.
  const auto& found = trial.result.found;
  const auto first = std::find_if(found.begin(), found.end(), [&](const Found& f) {
    return trial.is_benign || f.verdict.status != Status::kSuspect;
  });
  trial.killed = first != found.end();
  if (trial.killed) trial.found = *first;
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

}  // namespace

OpenRunner runners_of_mutant(const BuiltMutant& built, const SelftestOptions& options,
                             FindKernel find) {
  static const Ledger kNone;
  DrawnCases cases{.common = options.common,
                   .isolated = options.isolated,
                   .workers = threads_of_job(options) + 1,
                   .campaigns = options.jobs,
                   .launcher = built.launcher_path(),
                   .control_objects = options.common.code_objects};
  cases.common.code_objects = built.code_objects();
  cases.common.ledger = "none";
  return runners_of(cases, kNone, std::move(find));
}

std::vector<Trial> run_selftest(const std::vector<Mutant>& mutants, const SelftestOptions& options,
                                const BuildOptions& build,
                                const std::function<void(const Trial&)>& told,
                                const std::atomic<bool>& stop) {
  std::vector<std::optional<Trial>> trials(mutants.size());
  std::mutex telling;
  Builders builders(mutants, build, options.jobs);
  const bool done = parallel_for(options.jobs, mutants.size(), [&](int, std::size_t i) {
    if (stop) return;
    const Built built = builders.take(i);
    const Mutant& mutant = mutants[i];
    Trial trial{.name = mutant.name,
                .bug_class = mutant.bug_class,
                .recreates = mutant.recreates,
                .defect = mutant.defect,
                .is_benign = mutant.is_benign()};
    trial.build_seconds = built.seconds;
    if (!built.mutant.ok()) {
      trial.trouble = built.mutant.trouble().text;
    } else if (!built.mutant->is_in_build()) {
      trial.is_absent = true;
    } else {
      fuzz(*built.mutant, options, stop, trial);
    }
    if (stop) return;  // half a trial proves nothing
    const std::lock_guard lock(telling);
    told(trial);
    trials[i] = std::move(trial);
  });
  std::vector<Trial> ended;
  for (auto& trial : trials) {
    if (trial) ended.push_back(std::move(*trial));
  }
  if (!done && !ended.empty()) ended.back().trouble = "out of memory on the host";
  return ended;
}

bool is_small(const Problem& p) {
  return p.b() <= 2 && p.h_q <= 16 && *std::max_element(p.s_kv.begin(), p.s_kv.end()) <= 128;
}

SelftestSummary summary_of(const std::vector<Trial>& trials) {
  SelftestSummary summary;
  std::vector<double> kills, builds;
  for (const Trial& trial : trials) {
    builds.push_back(trial.build_seconds);
    if (trial.is_absent) {
      ++summary.absent;
      continue;
    }
    if (!trial.trouble.empty()) ++summary.troubled;
    summary.survivors += !trial.is_benign && !trial.killed && trial.trouble.empty();
    (trial.is_benign ? summary.benign : summary.defects) += 1;
    if (trial.killed) ++(trial.is_benign ? summary.false_alarms : summary.killed);
    if (!trial.killed || trial.is_benign) continue;
    kills.push_back(trial.found.seconds);
    summary.small += is_small(trial.found.smallest.problem);
    summary.longest_shrink_seconds =
        std::max(summary.longest_shrink_seconds, trial.found.shrink_seconds);
  }
  summary.median_kill_seconds = median(std::move(kills));
  summary.median_build_seconds = median(std::move(builds));
  return summary;
}

}  // namespace attest

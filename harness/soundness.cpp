#include "harness/soundness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "harness/core/parallel.hpp"
#include "harness/generate.hpp"
#include "harness/judge_gates.hpp"
#include "harness/subject.hpp"

namespace attest {
namespace {

constexpr std::string_view kNames[kCheckedKinds] = {"o before its rounding", "o", "partial_o",
                                                    "lse"};

// Token j gets the latent of token j % 2 of its own sequence.
void share_two_latents(const Problem& p, Inputs& inputs) {
  auto* const kv = inputs.kv.data<std::byte>();
  const std::int64_t bytes = bytes_of_element(p.kv_type);
  for (int seq = 0; seq < p.b(); ++seq) {
    const std::int32_t* const table = inputs.kv_indices.data() + inputs.kv_indptr[seq];
    const auto row = [&](int token) {
      const std::int64_t page = table[token / p.page_size];
      return kv + (page * p.page_size + token % p.page_size) * kDQk * bytes;
    };
    for (int token = 2; token < p.s_kv[seq]; ++token) {
      std::copy_n(row(token % 2), kDV * bytes, row(token));
    }
  }
}

struct Worst {
  double ratio = -1;
  std::string text;
};

// Holds what a model left against the gates, and keeps the worst of each kind and tier.
class Checker {
 public:
  Checker(const SoundnessRun& run, const Reference& reference, const model::ModelResult& result)
      : run_(run),
        reference_(reference),
        result_(result),
        subject_{"model", run.test_case.problem, run.contract, run.model.num_splits} {}

  SoundnessOutcome check() {
    const CaseGates gates(subject_, reference_);
    const TensorGates before(Stored::kFp32, reference_.expected.o, gates_of(reference_.tiers),
                             &Bound::o);
    each_row_while(subject_, [&](Place place, const std::vector<TokenRange>& live) {
      check_row(place, before, gates.o, gates.lse);
      if (run_.model.num_splits > 1)
        check_partials(place, live, gates.partial_o, gates.partial_lse);
      return true;
    });
    return finish();
  }

 private:
  void check_row(const Place& place, const TensorGates& o, const TensorGates& stored,
                 const TensorGates& lse) {
    if (owed_in_row(subject_, place) != Owed::kValue) return;
    check_one(SoundnessTensor::kLse, lse, place, place.row, result_.output.lse[place.row]);
    for (int d = 0; d < kDV; ++d) {
      const std::int64_t at = place.row * kDV + d;
      check_one(SoundnessTensor::kOBeforeRounding, o, place, at,
                std::bit_cast<std::uint32_t>(result_.o_fp32[at]));
      check_one(SoundnessTensor::kOStored, stored, place, at, result_.output.o[at]);
    }
  }

  void check_partials(Place place, const std::vector<TokenRange>& live, const TensorGates& o,
                      const TensorGates& lse) {
    for (place.split = 0; place.split < run_.model.num_splits; ++place.split) {
      if (owed_in_split(subject_, place, live) != Owed::kValue) continue;
      const std::int64_t from = stored_partial(subject_, place.row, place.split);
      const std::int64_t at = place.row * run_.model.num_splits + place.split;
      check_one(SoundnessTensor::kLse, lse, place, at, result_.output.partial_lse[from]);
      for (int d = 0; d < kDV; ++d) {
        check_one(SoundnessTensor::kPartialO, o, place, at * kDV + d,
                  result_.output.partial_o[from * kDV + d]);
      }
    }
  }

  void check_one(SoundnessTensor kind, const TensorGates& gates, const Place& place,
                 std::int64_t at, std::uint32_t bits) {
    ++outcome_.ratios.elements;
    const double actual = value_of(gates.stored(), bits);
    for (int g = 0; g < gates.count(); ++g) {
      const GateAt gate = gates.at(g, at);
      if (std::isinf(gate.radius)) {
        ++outcome_.ratios.unbounded;
        continue;
      }
      const double ratio = ratio_of(gates.stored(), actual, gate.centre, gate.radius);
      const int row = static_cast<int>(kind), column = static_cast<int>(gates.tier(g));
      double& largest = outcome_.ratios.largest[row][column];
      largest = std::max(largest, std::isnan(ratio) ? INFINITY : ratio);
      if (is_within(gates.stored(), actual, gate.centre, gate.radius)) continue;
      Worst& worst = worst_[row][column];
      ++wrong_[row][column];
      if (ratio <= worst.ratio) continue;
      worst = {ratio, describe(kind, gates.tier(g), place, at, actual, gate, ratio)};
    }
  }

  std::string describe(SoundnessTensor kind, Tier tier, const Place& place, std::int64_t at,
                       double actual, const GateAt& gate, double ratio) const {
    std::string text = fmt::format("{} breaks {}: sequence {}, query token {}, head {}",
                                   kNames[static_cast<int>(kind)], to_string(tier), place.sequence,
                                   place.query_token, place.head);
    if (place.split >= 0) text += fmt::format(", split {}", place.split);
    if (kind != SoundnessTensor::kLse) text += fmt::format(", column {}", at % kDV);
    return text +
           fmt::format(": actual {:.9g}, expected {:.9g}, error {:.4g}, bound {:.4g}, ratio {:.4g}",
                       actual, gate.centre, std::abs(actual - gate.centre), gate.radius, ratio);
  }

  SoundnessOutcome finish() {
    outcome_.ratios.runs = 1;
    for (int kind = 0; kind < kCheckedKinds; ++kind) {
      for (int tier = 0; tier < kTiers; ++tier) {
        if (wrong_[kind][tier] == 0) continue;
        outcome_.violations.push_back(
            fmt::format("{}; {} such", worst_[kind][tier].text, wrong_[kind][tier]));
      }
    }
    return std::move(outcome_);
  }

  const SoundnessRun& run_;
  const Reference& reference_;
  const model::ModelResult& result_;
  const Subject subject_;
  SoundnessOutcome outcome_;
  Worst worst_[kCheckedKinds][kTiers];
  std::int64_t wrong_[kCheckedKinds][kTiers] = {};
};

// What the threads share: the terminal, and the first trouble.
class Progress {
 public:
  explicit Progress(const SoundnessOptions& options) : options_(options) {}

  void finished(std::int64_t index, const SoundnessRun& run, const SoundnessOutcome& outcome) {
    const std::lock_guard lock(mutex_);
    for (const std::string& violation : outcome.violations) {
      fmt::print(options_.violations_to_stderr ? stderr : stdout,
                 "violation  {}\n           {}\n           see it again: attest soundness {}\n",
                 violation, to_string(run), replay_arguments(options_, index));
    }
    std::fflush(stdout);
    if (++done_ % kEvery == 0) fmt::print(stderr, "{} of {} runs\n", done_, options_.runs);
  }
  void fail(const Trouble& trouble) {
    const std::lock_guard lock(mutex_);
    if (trouble_.text.empty()) trouble_ = trouble;
  }
  const Trouble& trouble() const { return trouble_; }

 private:
  static constexpr std::int64_t kEvery = 5000;
  const SoundnessOptions& options_;
  std::mutex mutex_;
  std::int64_t done_ = 0;
  Trouble trouble_;
};

template <class Map>
void add_all(const Map& from, Map& to) {
  for (const auto& [name, ratios] : from) to[name].add(ratios);
}

}  // namespace

SoundnessRatios::SoundnessRatios() {
  for (auto& tiers : largest) tiers.fill(-1);
}

void SoundnessRatios::add(const SoundnessRatios& other) {
  runs += other.runs;
  elements += other.elements;
  unbounded += other.unbounded;
  for (int kind = 0; kind < kCheckedKinds; ++kind) {
    for (int tier = 0; tier < kTiers; ++tier)
      largest[kind][tier] = std::max(largest[kind][tier], other.largest[kind][tier]);
  }
}

void SoundnessTable::add(const SoundnessRun& run, const SoundnessOutcome& outcome) {
  by_arithmetic[run.arithmetic].add(outcome.ratios);
  by_data[run.data].add(outcome.ratios);
  by_length[run.length].add(outcome.ratios);
  all.add(outcome.ratios);
  violations += static_cast<std::int64_t>(outcome.violations.size());
}

void SoundnessTable::add(const SoundnessTable& other) {
  add_all(other.by_arithmetic, by_arithmetic);
  add_all(other.by_data, by_data);
  add_all(other.by_length, by_length);
  all.add(other.all);
  violations += other.violations;
}

Result<Inputs> inputs_of(const SoundnessRun& run) {
  const Walk walk{run.contract.split_rule, run.model.num_splits,
                  run.contract.arithmetic.tile_tokens};
  auto inputs = generate(run.test_case, walk, 1);
  if (inputs.ok() && run.two_latents) share_two_latents(run.test_case.problem, *inputs);
  return inputs;
}

Result<SoundnessOutcome> check_run(const SoundnessRun& run) {
  const Problem& problem = run.test_case.problem;
  const auto inputs = inputs_of(run);
  if (!inputs.ok()) return inputs.trouble();
  const auto expected = reference(problem, *inputs, run.contract, run.model.num_splits, {});
  if (!expected.ok()) return expected.trouble();
  const auto result = model::run_model(problem, *inputs, run.kept, run.model);
  if (!result.ok()) return result.trouble();
  return Checker(run, *expected, *result).check();
}

Result<SoundnessTable> check_runs(const SoundnessOptions& options) {
  std::vector<SoundnessTable> tables(options.threads);
  Progress progress(options);
  const auto work = [&](int worker, std::size_t i) {
    if (options.stop != nullptr && *options.stop) return;
    const std::int64_t index = options.first + static_cast<std::int64_t>(i);
    const SoundnessRun run = draw_run(options.seed, index, options.max_length);
    const auto outcome = check_run(run);
    if (!outcome.ok()) return progress.fail(outcome.trouble());
    tables[worker].add(run, *outcome);
    progress.finished(index, run, *outcome);
  };
  if (!parallel_for(options.threads, static_cast<std::size_t>(options.runs), work)) {
    return Trouble{TroubleKind::kInfra, "out of memory on the host"};
  }
  if (!progress.trouble().text.empty()) return progress.trouble();
  SoundnessTable all;
  for (const SoundnessTable& table : tables) all.add(table);
  return all;
}

std::string replay_arguments(const SoundnessOptions& options, std::int64_t index) {
  std::string text = fmt::format("--runs 1 --first {} --seed {}", index, options.seed);
  if (options.max_length != SoundnessOptions{}.max_length)
    text += fmt::format(" --max-length {}", options.max_length);
  return text;
}

}  // namespace attest

#include "harness/detect.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>

#include "harness/comparators.hpp"
#include "harness/core/check.hpp"
#include "harness/core/kernel.hpp"
#include "harness/generate.hpp"
#include "harness/pytorch_attention.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

// All that the comparators of one case read.
struct Facts {
  Case c;
  Contract contract;
  Reference reference;
  Reference undeclared;
  PytorchAttention pytorch;
  std::vector<Output>
      outputs;  // of the correct model, then of each defect; empty where none applies
  std::vector<std::size_t> observed;  // [outputs] its place in Reference::scores
};

Case case_of(const DetectOptions& options, const std::string& distribution, int length) {
  Case c;
  c.problem.h_q = options.heads;
  c.problem.s_kv = {length};
  c.problem.page_size = 16;  // several pages at every length, so that one can be the wrong one
  c.problem.num_splits = splits_for(length);
  c.distribution = distribution;
  c.seed = options.seed;
  return c;
}

bool same_output(const Output& a, const Output& b) {
  return a.o == b.o && a.lse == b.lse && a.partial_o == b.partial_o &&
         a.partial_lse == b.partial_lse;
}

Outcome run_models(const Inputs& inputs, int threads, Facts& facts) {
  const Problem& problem = facts.c.problem;
  std::vector<model::Defect> defects = {model::Defect::kNone};
  for (const model::Defect defect : planted_defects()) defects.push_back(defect);
  facts.outputs.resize(defects.size());
  model::ModelResult right;
  for (std::size_t i = 0; i < defects.size(); ++i) {
    if (i > 0 && !model::applies(defects[i], problem, facts.contract, problem.num_splits)) continue;
    auto run = model::run_model(problem, inputs, facts.contract,
                                {.num_splits = problem.num_splits,
                                 .threads = threads,
                                 .defect = defects[i],
                                 .right = i > 0 ? &right : nullptr});
    if (!run.ok()) return run.trouble();
    if (i == 0) right = *run;
    facts.outputs[i] = std::move(run->output);
  }
  return Done{};
}

// The reference in one pass over the data, with every output to be scored in it.
Outcome run_references(const Inputs& inputs, int threads, Facts& facts) {
  const Problem& problem = facts.c.problem;
  ReferenceOptions options{.threads = threads};
  for (const Output& output : facts.outputs) {
    facts.observed.push_back(options.observed.size());
    if (!output.o.empty()) options.observed.emplace_back(output.o);
  }
  auto declared = reference(problem, inputs, facts.contract, problem.num_splits, options);
  if (!declared.ok()) return declared.trouble();
  facts.reference = std::move(*declared);
  Contract contract = facts.contract;
  contract.arithmetic.schedule_declared = false;
  auto undeclared = reference(problem, inputs, contract, problem.num_splits, {.threads = threads});
  if (!undeclared.ok()) return undeclared.trouble();
  facts.undeclared = std::move(*undeclared);
  return Done{};
}

Result<Facts> facts_of(const DetectOptions& options, const std::string& distribution, int length) {
  const Kernel& kernel = *find_kernel("mla_decode");
  Facts facts;
  facts.c = case_of(options, distribution, length);
  facts.contract = kernel.contract(facts.c.problem);  // its matrix unit: sequential FMA
  const auto inputs = generate(facts.c, walk_of(kernel, facts.c.problem), options.threads);
  if (!inputs.ok()) return inputs.trouble();
  if (const Outcome run = run_models(*inputs, options.threads, facts); !run.ok()) {
    return run.trouble();
  }
  if (const Outcome run = run_references(*inputs, options.threads, facts); !run.ok()) {
    return run.trouble();
  }
  auto pytorch = pytorch_attention(facts.c.problem, *inputs, options.threads);
  if (!pytorch.ok()) return pytorch.trouble();
  facts.pytorch = std::move(*pytorch);
  return facts;
}

std::span<const Score> scores_of(const Facts& facts, std::size_t output) {
  const auto& scores = facts.reference.scores;
  const std::size_t at = facts.observed[output];
  return at < scores.size() ? std::span<const Score>(scores[at]) : std::span<const Score>();
}

DetectCase compare(const Facts& facts) {
  const auto comparators = all_comparators();
  const Subject subject{facts.c.kernel, facts.c.problem, facts.contract,
                        facts.c.problem.num_splits};
  const Yardstick yardstick{subject, facts.reference, facts.undeclared.tiers,
                            facts.pytorch.magnitude, facts.pytorch.o};
  DetectCase result{
      facts.c.distribution, facts.c.problem.s_kv[0], facts.c.problem.num_splits, {}, {}};
  for (const Comparator& comparator : comparators) {
    const bool has_rule = comparator.has_rule == nullptr || comparator.has_rule(yardstick);
    if (!has_rule) {
      result.correct.push_back(Cell::kNoRule);
    } else {
      const bool right = comparator.accepts(yardstick, {facts.outputs[0], scores_of(facts, 0)});
      result.correct.push_back(right ? Cell::kNoEffect : Cell::kFalseAlarm);
    }
  }
  for (std::size_t i = 1; i < facts.outputs.size(); ++i) {
    std::vector<Cell>& cells = result.defects.emplace_back(comparators.size(), Cell::kNoEffect);
    if (facts.outputs[i].o.empty() || same_output(facts.outputs[i], facts.outputs[0])) continue;
    for (std::size_t k = 0; k < comparators.size(); ++k) {
      cells[k] = result.correct[k];
      if (cells[k] != Cell::kNoEffect) continue;
      const bool accepts =
          comparators[k].accepts(yardstick, {facts.outputs[i], scores_of(facts, i)});
      cells[k] = accepts ? Cell::kMissed : Cell::kCaught;
    }
  }
  return result;
}

}  // namespace

std::vector<model::Defect> planted_defects() {
  std::vector<model::Defect> defects;
  for (int i = 1; i <= static_cast<int>(model::kLastDefect); ++i) {
    defects.push_back(static_cast<model::Defect>(i));
  }
  return defects;
}

// Long enough that the running maxima of four waves of 16-token tiles move inside a split, from 256
// tokens on; at 64 one split is empty, as the kernel's rule gives none less than 64 tokens. From
// 256k tokens on 256, which the kernel's own rule picks for one sequence.
int splits_for(int length) {
  const int most = length > 262144 ? 256 : length > 32768 ? 64 : 16;
  const int of_256_tokens = static_cast<int>(std::bit_floor(static_cast<unsigned>(length) / 256u));
  return std::clamp(of_256_tokens, 2, most);
}

Result<Detection> detect(const DetectOptions& options, const DetectProgress& progress) {
  Detection detection;
  for (const std::string& distribution : options.distributions) {
    for (const int length : options.lengths) {
      if (options.stop != nullptr && *options.stop) return detection;
      const auto start = std::chrono::steady_clock::now();
      const auto facts = facts_of(options, distribution, length);
      if (!facts.ok()) return facts.trouble();
      detection.cases.push_back(compare(*facts));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      if (progress) progress(detection.cases.back(), seconds.count());
    }
  }
  return detection;
}

}  // namespace attest

// soundness: whether a kernel that keeps its Contract is ever called wrong. Each run draws, from
// (seed, index) alone, an arithmetic, a schedule, data and shapes; the kernel model computes what
// such a kernel may, and every element of it is held against every tier of the reference.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/expected.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/trouble.hpp"
#include "reference/model/kernel_model.hpp"

namespace attest {

inline constexpr int kTiers = 4;

struct SoundnessRun {
  std::string arithmetic;  // the variant's name
  std::string data;
  Case test_case;  // shapes, distribution, seed
  // Half of the tokens share one latent, half another; their RoPE parts, and so their P, are their
  // own. The distributions of the catalogue come besides.
  bool two_latents = false;
  Contract contract;  // as declared
  Contract kept;      // what the model does: less than declared, where a declaration is a limit
  model::ModelOptions model;
  int length = 0;
};

struct SoundnessOptions {
  std::int64_t first = 0, runs = 1;
  std::uint64_t seed = 1;
  int max_length = 65536;
  int threads = 1;
  bool violations_to_stderr = false;        // where stdout belongs to JSON
  const std::atomic<bool>* stop = nullptr;  // once true, no other run is begun
};

// What a run stands in the tables under.
std::vector<std::string_view> soundness_arithmetics();
std::vector<int> soundness_lengths();
SoundnessRun draw_run(std::uint64_t seed, std::int64_t index, int max_length);
std::string to_string(const SoundnessRun& run);

enum class SoundnessTensor { kOBeforeRounding, kOStored, kPartialO, kLse };
inline constexpr int kCheckedKinds = 4;

// The largest error / bound, by what is checked and tier; -1: nothing was.
struct SoundnessRatios {
  SoundnessRatios();
  std::int64_t runs = 0, elements = 0;
  std::int64_t unbounded = 0;  // elements of which some tier promises nothing
  std::array<std::array<double, kTiers>, kCheckedKinds> largest;
  void add(const SoundnessRatios& other);
};

struct SoundnessOutcome {
  SoundnessRatios ratios;
  std::vector<std::string> violations;  // the worst of each tensor and tier
};
Result<Inputs> inputs_of(const SoundnessRun& run);
Result<SoundnessOutcome> check_run(const SoundnessRun& run);

struct SoundnessTable {
  std::map<std::string, SoundnessRatios> by_arithmetic, by_data;
  std::map<int, SoundnessRatios> by_length;
  SoundnessRatios all;
  std::int64_t violations = 0;
  void add(const SoundnessRun& run, const SoundnessOutcome& outcome);
  void add(const SoundnessTable& other);
};

// Prints every violation at once, with the command that rebuilds its run, and now and then how far
// it is (stderr).
Result<SoundnessTable> check_runs(const SoundnessOptions& options);
// The arguments that rebuild one run.
std::string replay_arguments(const SoundnessOptions& options, std::int64_t index);

}  // namespace attest

// The oracle: attention by its formula in fp64, from the stored bits, with the bound that a
// kernel's contract implies.
//   x_j = sm_scale q.k_j;  lse = ln sum e^{x_j};  o = sum e^{x_j - lse} v_j;  V is the first 512
//   columns of K. Of an fp8 tensor each value is its code's times the tensor's descale factor.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/expected.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "harness/core/trouble.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

// Facts of one row's data; natural units. A row that sees no token: zeros.
struct RowFacts {
  float logit_min = 0, logit_max = 0;
  float n_eff = 0;       // 1 / sum a^2
  float flush_mass = 0;  // share of the weight whose P the declared rounding makes zero
  float gain_bias = 0;   // sum a (rounded P / P - 1)
  float condition = 0;   // sum_d sum_j a_j |v_jd| / sum_d |o_d|
};

enum class Detail {
  kPlain,  // the values alone
  kT0,     // and T0
  kAll,    // every tier that the contract allows, facts, directions, and the scores of `observed`
};

class GpuReference;

// From so many tokens a thread on, as block_tokens() counts them, a device is faster than the
// host's threads: they take 10 ms for them, a device a few for its copies and launches.
inline constexpr std::int64_t kTokensForDevice = 2048;
// Tokens, each as often as there are blocks of 16 rows that see it.
std::int64_t block_tokens(const Problem& problem);

struct ReferenceOptions {
  int threads = 1;  // the result does not depend on it
  Detail detail = Detail::kAll;
  // Final results of kernels, o [rows, 512] as stored in bf16, to run the score tests on. Needs a
  // declared schedule.
  std::vector<std::span<const std::uint16_t>> observed = {};
  // Whose sums are the host's bit for bit (gpu/gpu_reference.hpp); nullptr: the host alone.
  GpuReference* device = nullptr;
  std::int64_t tokens_for_device = 0;  // fewer are left to the host
};

struct Reference {
  Expected expected;
  Tiers tiers;  // +inf where the arithmetic promises nothing, as when sums of |q k| leave fp32
  std::vector<RowFacts> rows;              // [rows]; with kAll, as all that follows
  std::vector<float> temperature_o;        // [rows, 512] d o / d ln sm_scale
  std::vector<float> temperature_lse;      // [rows] d lse / d ln sm_scale
  std::vector<std::vector<Score>> scores;  // [observed] the largest |z| of each filter
  std::string device;                      // that formed the sums; empty: the host
};

// Why no bound can be formed of a kernel of this contract; empty when one can.
std::string why_no_bound(const Problem& problem, const Contract& contract);

// num_splits: as the kernel runs it (Kernel::num_splits). Trouble kInfra when the host has no
// memory for it, or the device fails; kUsage where no bound can be formed.
Result<Reference> reference(const Problem& problem, const Inputs& inputs, const Contract& contract,
                            int num_splits, const ReferenceOptions& options);

}  // namespace attest

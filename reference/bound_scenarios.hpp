// Small cases for the tests of the bounds: in each some term is large that elsewhere is small.
#pragma once
#include <iosfwd>
#include <vector>

#include "harness/core/contract.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"
#include "reference/small_inputs.hpp"

namespace attest {

enum class Edit {
  kNone,
  kRepeatedKeys,    // two keys in turn, values of their own
  kRepeatedTokens,  // and equal values
  kDrift,           // the scores of tile after tile are the first's, plus a step each
  kHugeFlushed,     // one key far below the rest, its value enormous
  kTinyValues,      // V near fp32's least normal
  kJumps,           // scores rise by just less than a lazy threshold, then fall
  kAtThreshold,     // one score is a lazy threshold above the max, to within its error
  kNearBoundary,    // P of each token a quarter of u further from one boundary between two bf16
};

struct Scenario {
  const char* name;
  Arithmetic arithmetic;
  Family family = Family::kNormal;
  int s_kv = 200, num_splits = 1;
  int h_q = 1, s_q = 1;
  float sm_scale = 1.0f / 24;
  Edit edit = Edit::kNone;
  int row_step = 1;
  std::vector<int> columns = {0, 300, 511};
  Storage q_type = Storage::kBf16, kv_type = Storage::kBf16;
  float q_scale = 1, kv_scale = 1;
  Problem problem = {};  // of the above; bound_scenarios() fills it in
};
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks for this name
void PrintTo(const Scenario& scenario, std::ostream* os);

std::vector<Scenario> bound_scenarios();
Inputs inputs_of(const Scenario& scenario);

}  // namespace attest

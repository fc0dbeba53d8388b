// detect: which comparator sees which planted defect, on which data, at which length. Kernels are
// CPU models (reference/model) with the contract of the real kernel, so the gates are those that a
// user's kernel is judged by.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/case.hpp"
#include "harness/core/trouble.hpp"
#include "reference/model/kernel_model.hpp"

namespace attest {

struct DetectOptions {
  std::vector<std::string> distributions;  // names of the catalogue
  std::vector<int> lengths;
  int heads = 4;
  Seed seed = {};
  int threads = 1;                          // the result does not depend on it
  const std::atomic<bool>* stop = nullptr;  // once true, no other case is begun
};

enum class Cell : char {
  kMissed = 'A',    // accepts the defective kernel and the correct one
  kCaught = '.',    // rejects the defective kernel alone
  kNoEffect = '-',  // the defective kernel's output is the correct one's, or the problem lacks what
                    // it needs
  kFalseAlarm = 'F',  // rejects the correct kernel
  kNoRule = ' ',      // the comparator has no rule here
};

// One distribution at one length.
struct DetectCase {
  std::string distribution;
  int length = 0, num_splits = 1;
  std::vector<Cell>
      correct;  // [comparators] of the correct kernel: kNoEffect, kFalseAlarm or kNoRule
  std::vector<std::vector<Cell>> defects;  // [defects][comparators]
};

struct Detection {
  std::vector<DetectCase> cases;  // by distribution, then length, in the order of the options
};

std::vector<model::Defect> planted_defects();  // all but kNone, in the order of the enumeration
int splits_for(int length);                    // that a case of this length is cut into

using DetectProgress = std::function<void(const DetectCase&, double seconds)>;
// Trouble: kUsage for an unknown distribution, kInfra without memory.
Result<Detection> detect(const DetectOptions& options, const DetectProgress& progress);

}  // namespace attest

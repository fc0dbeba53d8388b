// Failure: what a standalone program has to show.
#pragma once
#include <string>
#include <vector>

#include "harness/core/verdict.hpp"
#include "harness/recording_device.hpp"
#include "harness/standalone/faults.hpp"

namespace attest {

struct Failure {
  std::string token, device;  // "emu:gfx942"
  Verdict verdict;
  Record record;
  std::vector<FaultyElement> elements;
  std::string why_no_elements;  // where there are none, and more is known than that
  bool stops() const {
    return verdict.status == Status::kCrashed || verdict.status == Status::kHung;
  }
};

// Verifies the case, and keeps what a program needs to show its failure, if it fails.
Failure record_failure(const Kernel& kernel, Device& device, const Case& c, VerifyOptions options);

}  // namespace attest

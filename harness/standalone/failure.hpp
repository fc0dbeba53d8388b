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
  bool stops() const {
    return verdict.status == Status::kCrashed || verdict.status == Status::kHung;
  }
};

}  // namespace attest

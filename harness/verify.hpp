// verify: the whole machine, from a case to a verdict.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/arith.hpp"
#include "harness/core/case.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

class GpuReference;
struct Output;
struct Reference;
struct Subject;

// What a verdict on numbers was made of.
struct Judgement {
  const Subject& subject;
  const Output& output;
  const Reference& reference;
};

// A device that forms the sums of large references (reference/gpu/gpu_reference.hpp).
struct ReferenceDevice {
  std::function<Result<GpuReference*>()> open = {};  // the same each time; empty: the host alone
  std::int64_t from_tokens = 0;                      // times blocks of 16 rows
};

struct VerifyOptions {
  std::string code_objects;  // the folder of code objects
  int threads = 1;           // of generation and reference; a device has its own
  std::function<void(std::string_view stage)> at_stage = {};  // told when a stage begins
  bool certify =
      false;  // recompute rows of a pass by an oracle that shares nothing with reference()
  // Of an emulator: the case is run under each in turn. One that passes under some of them alone is
  // suspect.
  std::vector<Arith> ariths = {};
  int schedules = 0;  // others than its own that a case is run under (schedules.hpp)
  // Told of each output that was judged. It must not use the device, which may hold memory of the
  // case.
  std::function<void(const Judgement&)> at_judgement = {};
  ReferenceDevice reference_device = {};
};

Verdict verify(const Kernel& kernel, Device& device, const Case& c, const VerifyOptions& options);

// The verdict of a case that ended in trouble.
Verdict verdict_of(const Trouble& trouble, std::string_view kernel);

}  // namespace attest

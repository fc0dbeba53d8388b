// The inputs of a case as the tensors of a file: h5py sees bf16 as uint16 and fp8 as uint8, with
// the attribute dtype.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "golden/hdf5_file.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/problem.hpp"

namespace attest {

struct InputTensor {
  std::string name;  // "q"
  Number type;
  std::vector<std::uint64_t> shape;
  std::span<const std::byte> bytes;  // of the Inputs
  std::string dtype;                 // "bfloat16"
};

std::vector<InputTensor> input_tensors(const Problem& problem, const Inputs& inputs);

// The way back, of numbers that may come from anywhere. Trouble kUsage: the tensor that is missing,
// has another type or shape than the problem says, points outside the cache, holds a NaN or an
// infinity where a query token reads it, or is a scale other than the problem's.
Result<Inputs> inputs_of_tensors(const Problem& problem,
                                 const std::map<std::string, StoredTensor>& tensors);

}  // namespace attest

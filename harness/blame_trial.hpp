// For tests of blame: a launch of the kernel model, right or with a planted defect, and what is
// said of it.
#pragma once
#include <bit>
#include <string>
#include <utility>

#include "harness/blame.hpp"
#include "reference/model/kernel_model.hpp"
#include "reference/small_inputs.hpp"

namespace attest {

inline std::uint32_t fp32_bits(double value) {
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

struct BlameTrial {
  Problem problem;
  Contract contract;
  int num_splits = 1;
  Inputs inputs;
  Reference wanted;

  // Two sequences: with six splits the first has six, of 83 tokens, the second two.
  explicit BlameTrial(int splits, Family family = Family::kNormal,
                      Contract declared = short_tiles())
      : contract(std::move(declared)), num_splits(splits) {
    problem.h_q = 3;
    problem.s_kv = {500, 150};
    problem.s_q = {2, 1};
    problem.page_size = 16;
    inputs = std::move(*small_inputs(problem, family, 5));
    wanted = std::move(*reference(problem, inputs, contract, splits, {}));
  }

  static Contract short_tiles() {
    Contract c;
    c.arithmetic.tile_tokens = 16;
    c.arithmetic.waves_per_split = 4;
    c.arithmetic.matrix_unit = MatrixUnit::kCdna3Bf16;
    c.arithmetic.schedule_declared = true;
    return c;
  }

  Output output(model::Defect defect = model::Defect::kNone) const {
    return output_under(contract, defect);
  }
  // Of a kernel whose arithmetic is not the declared one.
  Output output_under(const Contract& other, model::Defect defect = model::Defect::kNone) const {
    return model::run_model(problem, inputs, other, {.num_splits = num_splits, .defect = defect})
        ->output;
  }
  Blame blamed(const Output& output) const { return blame(subject(), inputs, output, wanted); }
  Subject subject() const { return {"kernel_x", problem, contract, num_splits}; }
};

}  // namespace attest

// ServingMemory: what the tensors of a serving batch hold, on the host. Everything is of the size
// of the largest batch of a trajectory, and is changed in place: what lies behind the entries in
// use is left by larger batches, and a page keeps what its last owner wrote until another's tokens
// come.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/trajectories/steps.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"

namespace attest {

class ServingMemory {
 public:
  // For all that `moves` of the case go through. Trouble kInfra when there is no memory.
  static Result<ServingMemory> make(const Case& c, const std::vector<Move>& moves);

  // Writes the rows of the tokens that came since the last call. A row depends on its request, its
  // position, and the length and split plan at which it came, never on where it is stored.
  void write_new_tokens(const Kernel& kernel, const ServingBatch& batch);
  // The tables of `problem`, and new rows of q: `step` is another one each time.
  void write_batch(const Kernel& kernel, const ServingBatch& batch, const Problem& problem,
                   int step);

  const Inputs& inputs() const { return inputs_; }

 private:
  // What one request would hold if it were alone.
  std::unique_ptr<const Sampler> sampler_of(const Kernel& kernel, const Request& request,
                                            const Problem& problem, Seed seed) const;

  Case case_;
  Inputs inputs_;
  std::vector<std::int32_t> physical_;  // id of each page of the model's pool
  std::vector<int> written_;            // tokens of each request, by id
};

}  // namespace attest

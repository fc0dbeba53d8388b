// Sets of inputs of one problem on a device, each with its own pages, queries and outputs; tables
// of equal lengths and the workspace are shared, as layers of a model share them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/bench.hpp"
#include "harness/core/inputs.hpp"
#include "harness/core/kernel.hpp"
#include "harness/core/output.hpp"
#include "harness/session.hpp"

namespace attest {

class InputSets {
 public:
  // Pages of all sets lie shuffled in one pool. The first trouble sticks to `bench`.
  InputSets(Bench& bench, Device& device, const std::string& code_objects, const Kernel& kernel,
            const Problem& problem, int sets);

  static std::int64_t bytes_of_set(const Problem& problem);  // KV rows, q, o and lse
  int count() const { return sets_; }
  MlaTensors tensors(int set) const;
  std::span<const std::int32_t> pages(int set) const;  // the table of it

  // One sequence of a set as inputs of a problem of its own, and what the last launch left of it.
  Result<Inputs> inputs_of(const Problem& of_one, int set, int sequence);
  Output output_of(const Problem& of_one, int num_splits, bool bf16_partials, int set,
                   int sequence);
  // Empty when each o and lse of each set is finite; else which is the first that is not.
  std::string not_finite();

 private:
  // Equal parts of one buffer, one a set.
  struct Parts {
    Buffer whole;
    std::size_t stride = 0, bytes = 0;
    Buffer of(int set) const { return {whole.address + set * stride, bytes}; }
  };
  void allocate(Parts& parts, const std::string& label, std::size_t bytes);
  void write_tables();
  template <class T>
  std::vector<T> read(const Buffer& whole, std::size_t begin, std::size_t count);

  Bench& bench_;
  Device& device_;
  Problem problem_;
  int sets_;
  OutputSizes sizes_;
  std::vector<std::int32_t> pages_;  // of all sets, in order
  Parts q_, kv_indices_, o_, lse_;
  Buffer kv_, qo_indptr_, kv_indptr_, kv_last_page_len_, partial_o_, partial_lse_;
};

}  // namespace attest

// Kernel: a code object plus the host code that launches it, and the contract that it is judged by.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "harness/core/contract.hpp"
#include "harness/core/device.hpp"
#include "harness/core/problem.hpp"

namespace attest {

// Buffers that the harness prepared. Shapes: problem.hpp names the letters; strides are the
// problem's.
struct MlaTensors {
  Buffer q;                 // [total_q, h_q, 576] bf16 or fp8: Problem::q_type
  Buffer kv;                // [pages, page_size, 576] bf16 or fp8; V is the first 512 columns
  Buffer q_scale;           // [1] fp32, the descale factor; empty unless q is fp8
  Buffer kv_scale;          // [1] fp32, of kv; empty unless it is fp8
  Buffer qo_indptr;         // [b + 1] int32, query tokens
  Buffer kv_indptr;         // [b + 1] int32, entries of kv_indices
  Buffer kv_indices;        // physical page ids, int32
  Buffer kv_last_page_len;  // [b] int32, 1..page_size; of a sequence with s_kv == 0: 0
  Buffer o;                 // [total_q, h_q, 512] bf16
  Buffer lse;               // [total_q, h_q] fp32, natural log, dense
  // Both are empty when num_splits == 1.
  Buffer partial_o;    // [total_q, num_splits, h_q, 512] fp32 or bf16, dense
  Buffer partial_lse;  // [total_q, num_splits, h_q] fp32, natural log, dense
};

// A definition in the sources: `begin` is how the line begins that holds it.
struct SourcePlace {
  std::string_view path;   // "kernels/mla_decode/stage2.hpp"; empty: not known
  std::string_view begin;  // "ATTEST_INLINE void merge_splits("
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view summary() const = 0;  // one line for `attest list`
  // What it promises for this problem: of the build for gfx942, by which data is generated.
  virtual Contract contract(const Problem& problem) const = 0;
  // Of the build for a device's target, by which its output is judged.
  virtual Contract contract_for(const Problem& problem, std::string_view /*target*/) const {
    return contract(problem);
  }
  // Empty when the kernel takes the problem; else the reason it does not.
  virtual std::string why_unsupported(const Problem& problem) const = 0;
  // The number of splits it runs the problem with: the problem's own, or its rule's choice.
  virtual int num_splits(const Problem& problem) const = 0;
  // The number of splits that keeps so many processors busy without waiting for each other: an
  // engine's choice, where a problem does not name one.
  virtual int num_splits_for(const Problem& problem, int /*processors*/) const {
    return num_splits(problem);
  }
  // Path of the code object for a device's target, below the code-object folder:
  // "mla_decode.gfx942.co".
  virtual std::string code_object(std::string_view target) const = 0;
  // The same kernel without memory of earlier launches, as a new process would have it. Each case
  // begins with one, so that a launcher that keeps plans, sizes or specialisations fails in the
  // case that shows it, and fails again.
  virtual std::unique_ptr<Kernel> fresh() const = 0;
  // Whether a launch can be captured in a graph: not where it reads or writes memory on the host's
  // side.
  virtual bool can_be_captured() const { return true; }
  // Where a bucket's stage (harness/bucket.hpp) is written.
  virtual SourcePlace source(std::string_view /*stage*/, std::string_view /*target*/) const {
    return {};
  }
  virtual Outcome launch(Device& device, Module module, const Problem& problem,
                         const MlaTensors& tensors) const = 0;
};

std::span<const Kernel* const> all_kernels();  // kernels/catalog.cpp: those that attest ships
// Adapters for code objects that the user brings (kernels/external). They run only where a token
// names them.
std::span<const Kernel* const> external_kernels();
const Kernel* find_kernel(std::string_view name);  // of both

}  // namespace attest

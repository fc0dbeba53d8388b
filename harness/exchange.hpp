// Exchange: a case's inputs as an HDF5 file for a kernel that runs elsewhere, and the verdict on
// what it brought back.
//
//   /          attributes: format "attest exchange 1", token, the problem's numbers, and in words
//              what a query token sees and what one that sees nothing gets
//
//   /inputs/   q, kv, qo_indptr, kv_indptr, kv_indices, kv_last_page_len, and of fp8 tensors
//              q_scale, kv_scale
//
//   /outputs/  from the user, in the same file or in another:
//              o [total_q, h_q, 512], the bits of bf16 in 16-bit integers,
//              lse [total_q, h_q], float32, natural logarithm
//
#pragma once
#include <string>

#include "harness/core/case.hpp"
#include "harness/core/contract.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

class Hdf5File;

// Trouble kUsage: a case that is more than one launch, or whose cache is too large to be handed
// over.
Outcome export_case(const Case& c, const std::string& path, int threads);

// The case of such a file. Trouble kUsage: it is none, or its token names what is not here.
Result<Case> exported_case(const Hdf5File& file, const std::string& path);

// How the kernel elsewhere rounds, as far as its user says so.
struct ForeignKernel {
  std::string name = "elsewhere";
  MatrixUnit unit = MatrixUnit::kUnknown;
  std::string p = "bf16";    // what P is rounded to before P.V: fp32, bf16, fp16, fp8_fnuz, fp8_fn
  int internal_splits = 64;  // at most so many partial results in fp32 are merged within a launch
  int tile = 16;             // tokens between two updates of its running max, at least
};
// Trouble kUsage: the name of a format of P that there is not, and those that there are.
Result<Contract> contract_of(const ForeignKernel& kernel);

struct ForeignVerdict {
  Case c;
  Verdict verdict;
};
// `outputs`: the file that holds them; empty: `inputs` itself. Trouble kUsage: which dataset is
// missing or has another shape or type than expected, inputs that are not those of the token.
Result<ForeignVerdict> judge_file(const std::string& inputs, const std::string& outputs,
                                  const ForeignKernel& kernel, int threads);

}  // namespace attest

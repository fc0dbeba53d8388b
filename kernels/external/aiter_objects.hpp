// The MLA code objects for gfx942 that ROCm/aiter ships (hsa/gfx942/mla at e4048607a535): facts
// that its launcher (csrc/py_itfs_cu/asm_mla.cu, aiter/mla.py) and the objects' disassembly state.
#pragma once
#include <span>
#include <string_view>

#include "harness/core/problem.hpp"

namespace attest::external {

// What an object does when each sequence has one split.
enum class OneSplit {
  kFp32,                // as with several: fp32 partials and their lse
  kBf16NoLse,           // o as bf16, to the address of the partials, and no lse
  kBf16NoLseElsewhere,  // the same, to the address of the final output, for which the launcher
                        // passes null
  kFinal,               // persistent: a work item that is not split writes o as bf16, and lse
};

struct AiterObject {
  std::string_view name;  // k= of a token
  std::string_view file;  // in hsa/gfx942/mla
  std::string_view symbol;
  Storage q = Storage::kBf16, kv = Storage::kBf16;
  int heads = 16;
  int least_s_q = 1, most_s_q = 1;  // that the launcher takes it for
  bool persistent = false;
  // Tokens that a split takes at a time when splits take turns: "mgc" of aiter/mla.py:589-607.
  int tile = 64;
  int rows_of_workgroup = 16;  // sub_Q of the launcher: (query token, head) pairs
  OneSplit one_split = OneSplit::kBf16NoLse;
  std::string_view refused = {};  // not empty: why no Problem of attest describes its work
};

std::span<const AiterObject> aiter_objects();

}  // namespace attest::external

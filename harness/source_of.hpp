// Where the stage that broke is written.
#pragma once
#include <string>
#include <string_view>

#include "harness/core/kernel.hpp"
#include "harness/core/verdict.hpp"

namespace attest {

// "kernels/mla_decode/stage2.hpp:88"; the path alone where the sources that this program was built
// from are not here; empty where nothing failed, or the kernel does not say.
std::string source_of(const Kernel& kernel, const Verdict& verdict, std::string_view target);

}  // namespace attest

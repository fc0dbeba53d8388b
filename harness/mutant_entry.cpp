// The way into a mutant's launcher, which is a shared object: this file, the edited launch.cpp, the
// unedited others.
#include "harness/core/kernel.hpp"

extern "C" attest::Kernel* attest_make_kernel(const char* name) {
  const attest::Kernel* const kernel = attest::find_kernel(name);
  return kernel == nullptr ? nullptr : kernel->fresh().release();
}

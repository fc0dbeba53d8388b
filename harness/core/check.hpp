// ATTEST_CHECK: for our own bugs only. It prints expression, file and line, and aborts.
// The machine's trouble is a Trouble (trouble.hpp); "this kernel can't do that" is a Support (kernel.hpp).
#pragma once
#include <cstdio>
#include <cstdlib>

#define ATTEST_CHECK(condition)                                                                  \
  do {                                                                                           \
    if (!(condition)) {                                                                          \
      std::fprintf(stderr, "attest: internal error: %s is false, %s:%d\n", #condition, __FILE__, \
                   __LINE__);                                                                    \
      std::abort();                                                                              \
    }                                                                                            \
  } while (false)

// The code objects of guard.hip, in the program itself: a device needs them wherever the kernels
// under test come from. guard_images.inc, which CMake writes, names those that this build has.
#include "harness/device/gpu/guard_zones.hpp"

#define ATTEST_GUARD_IMAGE(target, path)                                                        \
  asm(".pushsection .rodata\n.balign 4096\nattest_guard_" #target ":\n.incbin \"" path          \
      "\"\nattest_guard_" #target "_end:\n.balign 16\n.popsection\n");                          \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char attest_guard_##target[]; \
  extern "C" __attribute__((visibility("hidden")))                                              \
  const unsigned char attest_guard_##target##_end[];
#include <guard_images.inc>
#undef ATTEST_GUARD_IMAGE

namespace attest::gpu_driver {

std::span<const unsigned char> guard_image(const std::string& target) {
#define ATTEST_GUARD_IMAGE(name, path) \
  if (target == #name) return {attest_guard_##name, attest_guard_##name##_end};
#include <guard_images.inc>
#undef ATTEST_GUARD_IMAGE
  return {};
}

}  // namespace attest::gpu_driver

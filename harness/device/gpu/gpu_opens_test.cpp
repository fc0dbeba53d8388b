// What stands in the way of a GPU device.
#include <gtest/gtest.h>

#include <string>

#include "harness/device/gpu/fake_driver.hpp"
#include "harness/device/gpu/gpu_device.hpp"

namespace attest::gpu_driver {
namespace {

const Driver kDriver = fake_driver("hip");

TEST(GpuOpens, AGpuThatNoKernelIsBuiltForIsRefusedByItsName) {
  reset_fake_gpu();
  fake_gpu().architecture = "gfx1100";
  const auto device = make_gpu_device(kDriver, 0, {});
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.trouble().kind, TroubleKind::kInfra);
  EXPECT_EQ(device.trouble().text,
            "Fake GPU is gfx1100; kernels are built for gfx942 gfx90a gfx950");
  EXPECT_EQ(make_gpu_device(kDriver, 1, {}).trouble().text, "libfake.so finds 1 GPU here");
}

TEST(GpuOpens, WhatFailsWhileADeviceOpensIsItsTrouble) {
  for (const char* call : {"fakeCount", "fakeRetain", "fakeCreateStream", "fakeAllocatePinned",
                           "fakeLoadModule", "fakeGetFunction"}) {
    reset_fake_gpu();
    fake_gpu().fails[call] = 46;
    const auto device = make_gpu_device(kDriver, 0, {});
    ASSERT_FALSE(device.ok()) << call;
    EXPECT_NE(device.trouble().text.find(call), std::string::npos) << device.trouble().text;
  }
}

}  // namespace
}  // namespace attest::gpu_driver

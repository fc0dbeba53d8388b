// Whole cases on a GPU device over the fake driver, whose kernels run in the emulator: all that a
// case asks of a device, with the code objects that ship.
#include <gtest/gtest.h>

#include "harness/device/device_list.hpp"
#include "harness/device/gpu/fake_driver.hpp"
#include "harness/device/gpu/gpu_device.hpp"
#include "harness/recording_device.hpp"
#include "harness/verify.hpp"

namespace attest::gpu_driver {
namespace {

class GpuCase : public testing::TestWithParam<std::string> {
 protected:
  static Verdict verdict_on(Device& device, const std::string& token) {
    const auto c = parse_token(token);
    EXPECT_TRUE(c.ok()) << token;
    return verify(*find_kernel(c->kernel), device, *c, {ATTEST_CODE_OBJECT_DIR, 1, {}});
  }
};

TEST_P(GpuCase, HasTheEmulatorsVerdict) {
  reset_fake_gpu();
  const Driver driver = fake_driver("hip");
  const auto gpu = make_gpu_device(driver, 0, {});
  ASSERT_TRUE(gpu.ok()) << gpu.trouble().text;
  const auto emulator = open_device("emu:gfx942", {.threads = 1});
  ASSERT_TRUE(emulator.ok());
  // A GPU sums as its hardware does, and its bounds say so.
  (*emulator)->set_arith(Arith::kCdna3);
  fake_gpu().emulator->set_arith(Arith::kCdna3);
  const Verdict on_gpu = verdict_on(**gpu, GetParam());
  const Verdict on_emulator = verdict_on(**emulator, GetParam());
  EXPECT_EQ(on_gpu.status, Status::kPassed) << on_gpu.reason;
  EXPECT_EQ(on_gpu.checked, on_emulator.checked);
  ASSERT_EQ(on_gpu.worst.size(), on_emulator.worst.size());
  for (std::size_t i = 0; i < on_gpu.worst.size(); ++i) {
    EXPECT_EQ(on_gpu.worst[i].ratio, on_emulator.worst[i].ratio) << on_gpu.worst[i].tensor;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tokens, GpuCase,
    testing::Values("v1:k=mla_decode:h=1:s=65", "v1:k=mla_decode:h=16:s=300,70:splits=2",
                    "v1:k=mla_decode:h=2:s=65,15:page=16:splits=2:steps=pad4.capture.replay5",
                    "v1:k=mla_decode:h=12:s=65,130:page=16:splits=4"
                    ":steps=launch.finish0.add129.launch.grow0,64.dirty.launch"));

// A device that records says what the device behind it is.
TEST(RecordingAGpu, IsNoEmulator) {
  reset_fake_gpu();
  const Driver driver = fake_driver("hip");
  const auto gpu = make_gpu_device(driver, 0, {});
  ASSERT_TRUE(gpu.ok());
  RecordingDevice recording(**gpu);
  EXPECT_FALSE(recording.is_emulated());
  EXPECT_EQ(recording.processors(), 304);
  recording.use_stream(1);
  const auto ms = recording.time_ms([] { return Done{}; });
  ASSERT_TRUE(ms.ok());
  EXPECT_EQ(*ms, 1.5);
  EXPECT_EQ(fake_gpu().order.back(), "wait 1");
}

}  // namespace
}  // namespace attest::gpu_driver

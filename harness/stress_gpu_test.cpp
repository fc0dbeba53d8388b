// Stress through the device class of real GPUs, over a driver that is fake and runs kernels in the
// emulator: streams, graphs and memory are used as a GPU's would be.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/gpu/fake_driver.hpp"
#include "harness/device/gpu/gpu_device.hpp"
#include "harness/stress.hpp"

namespace attest {
namespace {

class StressedGpu : public testing::Test {
 protected:
  void SetUp() override {
    gpu_driver::reset_fake_gpu();
    auto made = gpu_driver::make_gpu_device(driver_, 0, {});
    ASSERT_TRUE(made.ok()) << made.trouble().text;
    device_ = std::move(*made);
  }
  static StressOptions times(int count) {
    return {{.code_objects = ATTEST_CODE_OBJECT_DIR, .threads = 1}, count, ATTEST_CODE_OBJECT_DIR};
  }
  static std::ptrdiff_t count(const std::string& what) {
    const auto& order = gpu_driver::fake_gpu().order;
    return std::count(order.begin(), order.end(), what);
  }
  const Kernel& kernel_ = *find_kernel("mla_decode");
  const gpu_driver::Driver driver_ = gpu_driver::fake_driver("hip");
  std::unique_ptr<Device> device_;
};

TEST_F(StressedGpu, ReplaysOneGraphOnEachOfTwoStreamsAtTheSameTime) {
  const Case c = *parse_token("v1:k=mla_decode:h=2:s=130,65,0:page=16:splits=2");
  const Verdict verdict = stress_replay(kernel_, *device_, c, times(12));
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_EQ(gpu_driver::fake_gpu().captured_on, (std::vector<std::size_t>{0, 1}));
  // The second stream's replay is handed over, then the first's, and only then are they waited for.
  const auto& order = gpu_driver::fake_gpu().order;
  int together = 0;
  for (std::size_t i = 1; i < order.size(); ++i) {
    together += order[i - 1] == "replay 1" && order[i] == "replay 0";
  }
  EXPECT_EQ(together, 12);
}

TEST_F(StressedGpu, DisturbsLaunchesFromTwoStreams) {
  const Case c = *parse_token("v1:k=mla_decode:h=2:s=130:splits=2");
  const Verdict verdict = stress_repeat(kernel_, *device_, c, times(4));
  EXPECT_EQ(verdict.status, Status::kPassed) << verdict.reason;
  EXPECT_GT(count("launch 1"), 0);
}

}  // namespace
}  // namespace attest

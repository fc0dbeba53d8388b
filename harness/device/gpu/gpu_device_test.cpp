// The device over a driver that is fake, whose kernels run in the emulator: what it asks of a
// driver, in which order, and what it says when the driver fails.
#include "harness/device/gpu/gpu_device.hpp"

#include <cstdlib>
#include <numeric>

#include "harness/device/emulator/emulator_device.hpp"
#include "harness/device/gpu/device_fixture.hpp"
#include "harness/device/gpu/fake_driver.hpp"
#include "harness/device/gpu/streams.hpp"

namespace attest::gpu_driver {
namespace {

bool holds(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

class GpuDeviceTest : public testing::Test {
 protected:
  void SetUp() override { reset_fake_gpu(); }

  Result<std::unique_ptr<Device>> try_open(const GpuOptions& options = {}) {
    return make_gpu_device(driver_, 0, options);
  }
  PlantedKernels open(const GpuOptions& options = {}) {
    auto device = try_open(options);
    EXPECT_TRUE(device.ok()) << device.trouble().text;
    return PlantedKernels(std::move(*device));
  }
  static int calls(const std::string& name) { return fake_gpu().calls[name]; }

  const Driver driver_ = fake_driver("hip");
};

TEST_F(GpuDeviceTest, RunsAKernelOnWhatTheHostWrote) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7, 7, 7});
  k.append(log, 5);
  k.append(log, 6);
  EXPECT_EQ(k.read(log), (Words{2, 5, 6, 7}));
  EXPECT_EQ(k.device().name(), "hip:0");
  EXPECT_EQ(k.device().target(), "gfx942");
  EXPECT_EQ(k.device().description(), "Fake GPU");
  EXPECT_EQ(k.device().matrix_unit(), MatrixUnit::kCdna3Bf16);
  EXPECT_EQ(k.device().processors(), 304);
  EXPECT_FALSE(k.device().is_emulated());
}

TEST_F(GpuDeviceTest, ABufferHoldsItsFillAndKnowsItsBounds) {
  PlantedKernels k = open();
  const Buffer b = k.buffer("b", 12);
  EXPECT_EQ(b.address % 256, 0u);
  EXPECT_EQ(k.read(b), (Words{0x7fdb7fdb, 0x7fdb7fdb, 0x7fdb7fdb}));
  const Words two = {1, 2};
  const Outcome o = k.device().write(b, 8, std::as_bytes(std::span{two}));
  ASSERT_FALSE(o.ok());
  EXPECT_EQ(o.trouble().kind, TroubleKind::kUsage);
  EXPECT_EQ(o.trouble().text, "a write of 8 bytes at 8 is outside a buffer of 12 bytes");
}

TEST_F(GpuDeviceTest, LargeCopiesArriveWhole) {
  PlantedKernels k = open();
  Words values((std::size_t{9} << 20) / 4 + 3);
  std::iota(values.begin(), values.end(), 1U);
  const Buffer b = k.words(values);
  EXPECT_EQ(k.read(b), values);
}

// Staging memory is used again only when what lies in it has been copied.
TEST_F(GpuDeviceTest, ManySmallWritesDoNotOverwriteEachOther) {
  PlantedKernels k = open();
  const Words kilobytes(256 * 1024 / 4, 3);
  std::vector<Buffer> buffers;
  for (std::uint32_t i = 0; i < 40; ++i) {
    Words values = kilobytes;
    values.front() = i;
    buffers.push_back(k.words(values));
  }
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(k.read(buffers[i]).front(), i);
}

TEST_F(GpuDeviceTest, AFaultMakesTheDeviceLostAndNamesTheKernel) {
  PlantedKernels k = open();
  const Buffer b = k.buffer("b", 64);
  k.write_byte(b, std::int64_t{1} << 40, 1);
  const Outcome o = k.device().synchronize();
  ASSERT_FALSE(o.ok());
  EXPECT_EQ(o.trouble().kind, TroubleKind::kCrashed);
  EXPECT_EQ(o.trouble().text,
            "fakeQueryStream: FAKE_ILLEGAL_ADDRESS: what went wrong\n  kernel write_byte");
  const auto after = k.device().allocate("c", 64, 0);
  ASSERT_FALSE(after.ok());
  EXPECT_EQ(after.trouble().kind, TroubleKind::kInfra);
  EXPECT_TRUE(holds(after.trouble().text, "hip:0 cannot be used any more by this process: "))
      << after.trouble().text;
  const int releases = calls("fakeRelease");
  k.device().release_all();
  EXPECT_EQ(calls("fakeRelease"), releases) << "a lost device frees nothing";
}

TEST_F(GpuDeviceTest, AFaultAfterSeveralKernelsBlamesOneOfThem) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7});
  k.append(log, 5);
  k.write_byte(log, std::int64_t{1} << 40, 1);
  const Outcome o = k.device().synchronize();
  ASSERT_FALSE(o.ok());
  EXPECT_TRUE(holds(o.trouble().text,
                    "\n  one of the kernels append, write_byte; FAKE_IN_TURN=1 tells which"))
      << o.trouble().text;
}

TEST_F(GpuDeviceTest, AFaultInAGraphNamesWhatWasCaptured) {
  PlantedKernels k = open();
  const Buffer b = k.buffer("b", 64);
  ASSERT_TRUE(k.device().begin_capture().ok());
  k.write_byte(b, std::int64_t{1} << 40, 1);
  const auto graph = k.device().end_capture();
  ASSERT_TRUE(graph.ok());
  ASSERT_TRUE(k.device().replay(*graph).ok());
  const Outcome o = k.device().synchronize();
  ASSERT_FALSE(o.ok());
  EXPECT_TRUE(holds(o.trouble().text, "\n  kernel write_byte")) << o.trouble().text;
}

TEST_F(GpuDeviceTest, AFaultSaysThatItMayBeAnotherDevices) {
  PlantedKernels k = open();
  const PlantedKernels other = open();
  const Buffer b = k.buffer("b", 64);
  k.write_byte(b, std::int64_t{1} << 40, 1);
  const Outcome o = k.device().synchronize();
  ASSERT_FALSE(o.ok());
  EXPECT_TRUE(holds(o.trouble().text, "\n  or another device of this process")) << o.trouble().text;
}

// What is nobody's kernel's doing.
TEST_F(GpuDeviceTest, AnUncorrectableMemoryErrorLosesTheDeviceAndBlamesNoKernel) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7});
  k.append(log, 5);
  fake_gpu().fails["fakeQueryStream"] = 214;
  const Outcome o = k.device().synchronize();
  ASSERT_FALSE(o.ok());
  EXPECT_EQ(o.trouble().kind, TroubleKind::kInfra);
  EXPECT_FALSE(holds(o.trouble().text, "append")) << o.trouble().text;
  const auto after = k.device().allocate("c", 64, 0);
  ASSERT_FALSE(after.ok());
  EXPECT_TRUE(holds(after.trouble().text, "cannot be used any more by this process"))
      << after.trouble().text;
}

// In a process of its own, where nothing was lost before.
TEST_F(GpuDeviceTest, AFaultOfOneDeviceIsKnownToTheWholeProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto lose = [&] {
    if (has_lost_a_gpu()) std::exit(1);
    {
      PlantedKernels k = open();
      const Buffer b = k.buffer("b", 64);
      fake_gpu().fails["fakeLaunch"] = kInvalidValue;
      static_cast<void>(k.try_launch("append", KernelArguments().add(b.address).add(1U)));
      if (has_lost_a_gpu()) std::exit(2);
      k.write_byte(b, std::int64_t{1} << 40, 1);
      static_cast<void>(k.device().synchronize());
    }
    std::exit(has_lost_a_gpu() ? 7 : 3);
  };
  EXPECT_EXIT(lose(), testing::ExitedWithCode(7), "");
}

// In a process of its own: behind a hang nothing of the driver may be called, not even at the end.
TEST_F(GpuDeviceTest, AHangEndsAfterTheLimitAndTheProcessCanEnd) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto hang = [&] {
    std::atexit([] { std::abort(); });  // a driver's own, which would wait
    {
      PlantedKernels k = open({.guard_page = GuardPage::kNone, .launch_limit_s = 0});
      const Buffer log = k.words({0, 7});
      k.append(log, 5);
      fake_gpu().never_ready = {0};
      const Outcome o = k.device().synchronize();
      const bool is_hang = !o.ok() && o.trouble().kind == TroubleKind::kHung &&
                           o.trouble().text == "no end within 0 s\n  kernel append";
      if (!is_hang) std::exit(1);
      const auto after = k.device().allocate("c", 64, 0);
      if (after.ok() || after.trouble().kind != TroubleKind::kInfra) std::exit(2);
    }
    if (fake_gpu().calls["fakeRelease"] + fake_gpu().calls["fakeDestroyStream"] > 0) std::exit(3);
    std::exit(7);
  };
  EXPECT_EXIT(hang(), testing::ExitedWithCode(7), "");
}

TEST_F(GpuDeviceTest, LaunchesThatAreRefusedAreTheLaunchersMistake) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7});
  for (const auto& [code, kind] : {std::pair{kInvalidValue, TroubleKind::kRefused},
                                   {9, TroubleKind::kRefused},
                                   {701, TroubleKind::kRefused},
                                   {kOutOfMemory, TroubleKind::kInfra}}) {
    fake_gpu().fails["fakeLaunch"] = code;
    const Outcome o = k.try_launch("append", KernelArguments().add(log.address).add(1U));
    ASSERT_FALSE(o.ok()) << code;
    EXPECT_EQ(o.trouble().kind, kind) << code;
    EXPECT_TRUE(holds(o.trouble().text,
                      "kernel append: a grid of 1 x 1 x 1 workgroups of 64 x 1 x 1 threads with 0 "
                      "bytes of dynamic shared memory: fakeLaunch: "))
        << o.trouble().text;
  }
  k.append(log, 5);  // the device is as it was
  EXPECT_EQ(k.read(log), (Words{1, 5}));
}

TEST_F(GpuDeviceTest, WhatACodeObjectLacksIsItsOwnMistake) {
  PlantedKernels k = open();
  const auto function = k.device().function(k.module(), "no_such_kernel");
  ASSERT_FALSE(function.ok());
  EXPECT_EQ(function.trouble().kind, TroubleKind::kUsage);
  EXPECT_TRUE(holds(function.trouble().text, "has no kernel no_such_kernel"));
  const auto module = k.device().load_module("/no/such.co");
  ASSERT_FALSE(module.ok());
  EXPECT_EQ(module.trouble().kind, TroubleKind::kUsage);
  EXPECT_TRUE(holds(module.trouble().text, "/no/such.co: it cannot be read"));
}

TEST_F(GpuDeviceTest, ACodeObjectAndItsKernelsAreLookedUpOnce) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7, 7, 7});
  const int modules = calls("fakeLoadModule"), functions = calls("fakeGetFunction");
  for (std::uint32_t i = 0; i < 3; ++i) k.append(log, i);
  ASSERT_TRUE(
      k.device().load_module(std::string(ATTEST_CODE_OBJECT_DIR) + "/gpu_planted.gfx942.co").ok());
  EXPECT_EQ(calls("fakeLoadModule"), modules);
  EXPECT_EQ(calls("fakeGetFunction"), functions + 1);
}

TEST_F(GpuDeviceTest, DynamicSharedMemoryIsAskedForOnce) {
  PlantedKernels k = open();
  const Buffer sum = k.words({0});
  const auto launch = [&](std::uint32_t words) {
    return k.try_launch("sum_shared", KernelArguments().add(sum.address).add(words),
                        {{1}, {64}, words * 4});
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(launch(64).ok());
  ASSERT_TRUE(launch(32).ok());
  EXPECT_EQ(calls("fakeSetAttribute"), 1);
  EXPECT_EQ(k.read(sum), (Words{32 * 33 / 2}));
  fake_gpu().fails["fakeSetAttribute"] = kInvalidValue;
  const Outcome o = launch(65536);
  ASSERT_FALSE(o.ok());
  EXPECT_EQ(o.trouble().kind, TroubleKind::kRefused);
  EXPECT_TRUE(holds(o.trouble().text, "sum_shared asks for 262144 bytes of dynamic shared memory"));
}

TEST_F(GpuDeviceTest, StreamsAreWaitedForTogether) {
  PlantedKernels k = open();
  const Buffer a = k.words({0, 7}), b = k.words({0, 7});
  k.device().use_stream(1);
  k.append(a, 1);
  k.device().use_stream(0);
  k.append(b, 2);
  fake_gpu().order.clear();
  fake_gpu().polls_until_ready = 3;
  k.synchronize();
  EXPECT_EQ(fake_gpu().order, (std::vector<std::string>{"wait 0", "wait 1"}));
}

// Else a launch on stream 1 could run before the bytes that it reads are there.
TEST_F(GpuDeviceTest, WhatIsWrittenIsThereBeforeALaunchOnAnotherStream) {
  PlantedKernels k = open();
  k.device().use_stream(1);
  const Buffer log = k.words({0, 7});
  fake_gpu().order.clear();
  k.append(log, 1);
  EXPECT_EQ(fake_gpu().order, (std::vector<std::string>{"wait 0", "launch 1"}));
  fake_gpu().order.clear();
  k.write(log, {0, 8});  // and the other way round
  EXPECT_EQ(fake_gpu().order, (std::vector<std::string>{"wait 1", "write 0"}));
}

TEST_F(GpuDeviceTest, LaunchesOnOneStreamWaitForNothing) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7, 7});
  fake_gpu().order.clear();
  k.append(log, 1);
  k.write(log, {0, 8, 8});
  k.append(log, 2);
  EXPECT_EQ(fake_gpu().order, (std::vector<std::string>{"launch 0", "write 0", "launch 0"}));
}

TEST_F(GpuDeviceTest, CapturesOnTheCurrentStreamAndReplaysOnTheCurrentOne) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7, 7, 7});
  k.device().use_stream(2);
  ASSERT_TRUE(k.device().begin_capture().ok());
  k.append(log, 9);
  const auto graph = k.device().end_capture();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(fake_gpu().captured_on, (std::vector<std::size_t>{2}));
  k.device().use_stream(1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(k.device().replay(*graph).ok());
  EXPECT_EQ(fake_gpu().order.back(), "replay 1");
  EXPECT_EQ(k.read(log), (Words{3, 9, 9, 9}));
}

TEST_F(GpuDeviceTest, WhatACaptureDoesNotPermitIsRefusedAndItGoesOn) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7});
  Words values(2);
  ASSERT_TRUE(k.device().begin_capture().ok());
  for (const Outcome& o : {k.device().synchronize(), k.device().begin_capture(),
                           k.device().write(log, 0, std::as_bytes(std::span{values})),
                           k.device().read(log, 0, std::as_writable_bytes(std::span{values}))}) {
    ASSERT_FALSE(o.ok());
    EXPECT_EQ(o.trouble().kind, TroubleKind::kUsage) << o.trouble().text;
  }
  k.append(log, 3);
  ASSERT_TRUE(k.device().end_capture().ok());
  EXPECT_FALSE(k.device().end_capture().ok());
  EXPECT_EQ(k.read(log), (Words{0, 7}));  // captured, not run
}

TEST_F(GpuDeviceTest, ACaptureThatFailsLeavesTheDeviceAsItWas) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7});
  for (const char* call : {"fakeBeginCapture", "fakeEndCapture", "fakeInstantiate"}) {
    fake_gpu().fails[call] = 901;
    const Outcome begun = k.device().begin_capture();
    if (begun.ok()) {
      k.append(log, 3);
      const auto graph = k.device().end_capture();
      ASSERT_FALSE(graph.ok()) << call;
      EXPECT_TRUE(holds(graph.trouble().text, call)) << graph.trouble().text;
    }
    EXPECT_TRUE(fake_gpu().fails.empty()) << call;
    k.write(log, {0, 7});
    k.append(log, 5);
    EXPECT_EQ(k.read(log), (Words{1, 5})) << call;
  }
}

TEST_F(GpuDeviceTest, GraphsEndWithTheirMemory) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7});
  ASSERT_TRUE(k.device().begin_capture().ok());
  k.append(log, 3);
  const auto graph = k.device().end_capture();
  ASSERT_TRUE(graph.ok());
  k.device().release_all();
  EXPECT_EQ(calls("fakeDestroyExecutable"), 1);
  EXPECT_FALSE(k.device().replay(*graph).ok());
}

TEST_F(GpuDeviceTest, TimesTheCurrentStreamByEvents) {
  PlantedKernels k = open();
  const Buffer log = k.words({0, 7, 7});
  k.device().use_stream(1);
  fake_gpu().order.clear();
  const auto ms = k.device().time_ms(
      [&] { return k.try_launch("append", KernelArguments().add(log.address).add(1U)); });
  ASSERT_TRUE(ms.ok());
  EXPECT_EQ(*ms, 1.5);
  EXPECT_EQ(fake_gpu().order,
            (std::vector<std::string>{"wait 0", "event 1", "launch 1", "event 1", "wait 1"}));
}

TEST_F(GpuDeviceTest, TakesTheLargestGridOfLaunchesAndReplays) {
  PlantedKernels k = open();
  const Buffer b = k.buffer("b", 64);
  const auto launch = [&](std::uint32_t groups) {
    k.launch("write_words", KernelArguments().add(b.address).add(1U).add(16U), {{groups}, {64}, 0});
  };
  launch(3);
  launch(2);
  EXPECT_EQ(k.device().take_largest_grid(), 3u);
  ASSERT_TRUE(k.device().begin_capture().ok());
  launch(5);
  const auto graph = k.device().end_capture();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(k.device().take_largest_grid(), 0u);
  ASSERT_TRUE(k.device().replay(*graph).ok());
  EXPECT_EQ(k.device().take_largest_grid(), 5u);
}

}  // namespace
}  // namespace attest::gpu_driver

// Memory of a GPU: guard zones, guard pages, and what is released.
#include "harness/device/gpu/memory.hpp"

#include "harness/device/gpu/device_fixture.hpp"
#include "harness/device/gpu/fake_driver.hpp"
#include "harness/device/gpu/gpu_device.hpp"

namespace attest::gpu_driver {
namespace {

class GpuMemoryTest : public testing::Test {
 protected:
  void SetUp() override { reset_fake_gpu(); }
  PlantedKernels open(GuardPage page = GuardPage::kNone) {
    auto device = make_gpu_device(driver_, 0, {.guard_page = page, .launch_limit_s = 60});
    EXPECT_TRUE(device.ok()) << device.trouble().text;
    return PlantedKernels(std::move(*device));
  }
  static int calls(const std::string& name) { return fake_gpu().calls[name]; }

  const Driver driver_ = fake_driver("hip");
};

// In the emulator's words: harness/device/emulator/memory_test.cpp has the same.
TEST_F(GpuMemoryTest, GuardDamageNamesTheByte) {
  for (const std::int64_t at : {-1L, -3L, -60000L, 100L, 101L, 163L, 60000L}) {
    PlantedKernels gpu = open();
    const Buffer on_gpu = gpu.buffer("b", 100);
    gpu.write_byte(on_gpu, at, 0x5a);
    gpu.synchronize();
    const std::string text = gpu.device().guard_damage(on_gpu);
    const std::string wanted =
        at < 0 ? "the byte " + std::to_string(-at) + " before its start was written (0x5a)"
               : "the byte " + std::to_string(at - 100) + " after its end was written (0x5a)";
    EXPECT_EQ(text, wanted) << at;
  }
}

TEST_F(GpuMemoryTest, OfSeveralBytesTheOneNearestToTheBufferIsNamed) {
  PlantedKernels k = open();
  const Buffer b = k.buffer("b", 100);
  for (const std::int64_t at : {-900L, -300L, -5L, -700L}) k.write_byte(b, at, 0x11);
  k.synchronize();
  EXPECT_EQ(k.device().guard_damage(b), "the byte 5 before its start was written (0x11)");
}

TEST_F(GpuMemoryTest, AnOddSizeKeepsThePatternsPhase) {
  PlantedKernels k = open();
  for (const std::size_t bytes : {1U, 2U, 3U, 255U, 256U, 257U}) {
    EXPECT_EQ(k.device().guard_damage(k.buffer("b", bytes)), "") << bytes;
  }
}

TEST_F(GpuMemoryTest, TheZonesOfAllBuffersAreCheckedByOneLaunch) {
  PlantedKernels k = open();
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < 12; ++i) buffers.push_back(k.buffer("b", 100 + i));
  k.write_byte(buffers[7], 107, 0x22);
  k.synchronize();
  const int launches = calls("fakeLaunch"), reads = calls("fakeCopyToHost");
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(k.device().guard_damage(buffers[i]).empty(), i != 7) << i;
  }
  EXPECT_EQ(calls("fakeLaunch"), launches + 1);
  EXPECT_EQ(calls("fakeCopyToHost"), reads + 1);
  k.write_byte(buffers[3], -1, 0x22);  // what was found is out of date
  EXPECT_EQ(k.device().guard_damage(buffers[3]), "the byte 1 before its start was written (0x22)");
}

TEST_F(GpuMemoryTest, WithoutAKernelForTheTargetTheHostChecks) {
  ASSERT_TRUE(guard_image("gfx950").empty());
  fake_gpu().architecture = "gfx950";
  auto device = make_gpu_device(driver_, 0, {});
  ASSERT_TRUE(device.ok());
  const auto b = (*device)->allocate("b", 100, kFill);
  ASSERT_TRUE(b.ok());
  EXPECT_EQ((*device)->guard_damage(*b), "");
  *reinterpret_cast<std::uint8_t*>(b->address + 101) = 0x33;
  device = make_gpu_device(driver_, 0, {});  // another knows nothing of it
  EXPECT_EQ((*device)->guard_damage(*b), "the buffer is not one of this device's");
}

TEST_F(GpuMemoryTest, AZoneThatCannotBeCheckedIsNoDamageButTrouble) {
  PlantedKernels k = open();
  const Buffer b = k.buffer("b", 64);
  fake_gpu().fails["fakeLaunch"] = 999;
  EXPECT_EQ(k.device().guard_damage(b), "");
  Words values(16);
  const Outcome o = k.device().read(b, 0, std::as_writable_bytes(std::span{values}));
  ASSERT_FALSE(o.ok());
  EXPECT_EQ(o.trouble().kind, TroubleKind::kInfra);
}

TEST_F(GpuMemoryTest, ReleasedMemoryServesTheNextCaseAndIsFilledAnew) {
  PlantedKernels k = open();
  const Buffer first = k.words({1, 2, 3, 4});
  const int allocations = calls("fakeAllocate");
  k.device().release(first);
  const Buffer second = k.buffer("b", 40);
  EXPECT_EQ(calls("fakeAllocate"), allocations);
  EXPECT_EQ(k.read(second), Words(10, 0x7fdb7fdb));
  EXPECT_EQ(k.device().guard_damage(second), "");
}

TEST_F(GpuMemoryTest, WhatIsReleasedGoesBeforeMemoryIsShort) {
  PlantedKernels k = open();
  k.device().release(k.buffer("small", 64));
  fake_gpu().fails["fakeAllocate"] = kOutOfMemory;
  const Buffer large = k.buffer("large", std::size_t{1} << 20);
  EXPECT_EQ(calls("fakeRelease"), 1);
  EXPECT_EQ(large.bytes, std::size_t{1} << 20);
}

TEST_F(GpuMemoryTest, ALackOfMemoryIsTheMachinesAndNamesTheBuffer) {
  PlantedKernels k = open();
  fake_gpu().fails["fakeAllocate"] = kOutOfMemory;
  const auto made = k.device().allocate("kv", 4096, 0);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.trouble().kind, TroubleKind::kInfra);
  EXPECT_EQ(made.trouble().text,
            "no memory for kv (4096 bytes): fakeAllocate: FAKE_ERROR: out of memory");
}

TEST_F(GpuMemoryTest, AllIsGivenBackAtTheEnd) {
  {
    PlantedKernels k = open();
    k.device().release(k.buffer("a", 64));
    const Buffer b = k.buffer("b", 4096);
    EXPECT_EQ(k.device().guard_damage(b), "");
    ASSERT_TRUE(k.device().time_ms([] { return Done{}; }).ok());
  }
  EXPECT_TRUE(fake_gpu().allocations.empty());
  EXPECT_EQ(calls("fakeReleasePinned"), calls("fakeAllocatePinned"));
  EXPECT_EQ(calls("fakeDestroyStream"), calls("fakeCreateStream"));
  EXPECT_EQ(calls("fakeUnloadModule"), calls("fakeLoadModule"));
  EXPECT_EQ(calls("fakeDestroyEvent"), calls("fakeCreateEvent"));
}

// No kernel for its zones: the emulator knows nothing of the pages.
class GuardPageTest : public GpuMemoryTest {
 protected:
  void SetUp() override {
    reset_fake_gpu();
    fake_gpu().architecture = "gfx950";
  }
  std::unique_ptr<Device> device(GuardPage page) {
    auto made = make_gpu_device(driver_, 0, {.guard_page = page, .launch_limit_s = 60});
    EXPECT_TRUE(made.ok()) << made.trouble().text;
    return std::move(*made);
  }
  static void expect_nothing_held(const std::string& when) {
    EXPECT_TRUE(fake_gpu().pages.empty()) << when;
    EXPECT_TRUE(fake_gpu().mapped.empty()) << when;
    EXPECT_TRUE(fake_gpu().handles.empty()) << when;
  }
};

TEST_F(GuardPageTest, ABufferEndsAtTheUnmappedPage) {
  const auto d = device(GuardPage::kAfter);
  for (const std::size_t bytes : {16U, 100U, 4096U, 3000000U}) {
    const auto b = d->allocate("b", bytes, kFill);
    ASSERT_TRUE(b.ok());
    const auto& [begin, mapped] = *std::prev(fake_gpu().mapped.upper_bound(b->address));
    EXPECT_EQ(begin + mapped - (b->address + bytes), (16 - bytes % 16) % 16) << bytes;
    EXPECT_EQ(b->address % 16, 0u);
    EXPECT_EQ(d->guard_damage(*b), "");
  }
}

TEST_F(GuardPageTest, ABufferBeginsAtTheUnmappedPage) {
  const auto d = device(GuardPage::kBefore);
  const auto b = d->allocate("b", 100, kFill);
  ASSERT_TRUE(b.ok());
  EXPECT_TRUE(fake_gpu().mapped.contains(b->address));
  const auto& [begin, bytes] = *fake_gpu().pages.begin();
  EXPECT_LT(begin, b->address);
  EXPECT_GT(begin + bytes, b->address + fake_gpu().mapped[b->address]);
  EXPECT_EQ(d->guard_damage(*b), "");
}

TEST_F(GuardPageTest, ItsZonesAreCheckedToo) {
  const auto d = device(GuardPage::kAfter);
  const auto b = d->allocate("b", 100, kFill);
  ASSERT_TRUE(b.ok());
  *reinterpret_cast<std::uint8_t*>(b->address + 101) = 0x33;
  EXPECT_EQ(d->guard_damage(*b), "the byte 1 after its end was written (0x33)");
}

TEST_F(GuardPageTest, ReleasesWhatAFailedAllocationTook) {
  const auto d = device(GuardPage::kAfter);
  for (const char* call : {"fakeReserve", "fakeCreate", "fakeMap", "fakeSetAccess", "fakeFill"}) {
    fake_gpu().fails[call] = kOutOfMemory;
    const auto b = d->allocate("b", 100, kFill);
    ASSERT_FALSE(b.ok()) << call;
    EXPECT_NE(b.trouble().text.find(call), std::string::npos) << b.trouble().text;
    expect_nothing_held(call);
  }
  ASSERT_TRUE(d->allocate("b", 100, kFill).ok());
  d->release_all();
  expect_nothing_held("release_all");
}

TEST_F(GuardPageTest, ARuntimeWithoutVirtualMemorySaysSo) {
  Driver old = fake_driver("hip");
  old.version = 50200000;
  const auto d = make_gpu_device(old, 0, {.guard_page = GuardPage::kAfter, .launch_limit_s = 60});
  ASSERT_FALSE(d.ok());
  EXPECT_EQ(d.trouble().kind, TroubleKind::kInfra);
  EXPECT_NE(d.trouble().text.find("--guard-page none"), std::string::npos) << d.trouble().text;
  EXPECT_TRUE(make_gpu_device(old, 0, {}).ok());
}

}  // namespace
}  // namespace attest::gpu_driver

// The emulator behind the Device interface: modules, launches that are refused, failures that stick
// until they are asked for, and graphs.
#include "harness/device/emulator/emulator_device.hpp"

#include "harness/device/emulator/test_launch.hpp"

namespace attest::emulator {
namespace {

using Words = std::vector<std::uint32_t>;

void expect_refusal(const Trouble& trouble, const std::string& words,
                    TroubleKind kind = TroubleKind::kUsage) {
  EXPECT_EQ(trouble.kind, kind);
  EXPECT_NE(trouble.text.find(words), std::string::npos) << trouble.text;
}

class EmulatorDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto module = device_->load_module(test_kernels("gfx942"));
    ASSERT_TRUE(module.ok()) << module.trouble().text;
    module_ = *module;
  }
  Function function(const std::string& name) {
    auto found = device_->function(module_, name);
    EXPECT_TRUE(found.ok()) << found.trouble().text;
    return found.ok() ? *found : Function{};
  }
  Buffer buffer(const std::string& label, const Words& values) {
    auto made = device_->allocate(label, values.size() * 4, 0xdead);
    EXPECT_TRUE(made.ok());
    write(*made, values);
    return *made;
  }
  void write(const Buffer& to, const Words& values) {
    EXPECT_TRUE(device_->write(to, 0, std::as_bytes(std::span(values))).ok());
  }
  Words words(const Buffer& from) {
    Words values(from.bytes / 4);
    EXPECT_TRUE(device_->read(from, 0, std::as_writable_bytes(std::span(values))).ok());
    return values;
  }
  void expect_launched(const std::string& name, const LaunchConfig& config,
                       const KernelArguments& arguments) {
    const Outcome done = device_->launch(function(name), config, arguments);
    EXPECT_TRUE(done.ok()) << done.trouble().text;
  }
  void expect_refused(const std::string& name, const LaunchConfig& config,
                      const KernelArguments& arguments, const std::string& words) {
    const Outcome done = device_->launch(function(name), config, arguments);
    ASSERT_FALSE(done.ok()) << words;
    expect_refusal(done.trouble(), words, TroubleKind::kRefused);
    EXPECT_TRUE(device_->synchronize().ok());  // nothing ran
  }
  void crash() {
    expect_launched("add_one", {{1}, {64}, 0}, KernelArguments().add(std::uint64_t{0}));
  }

  const std::unique_ptr<Device> device_ =
      make_device("gfx942", {.threads = 1, .instruction_budget = 100000});
  Module module_;
};

TEST_F(EmulatorDeviceTest, IsNamedAfterItsTarget) {
  EXPECT_EQ(device_->name(), "emu:gfx942");
  EXPECT_EQ(device_->target(), "gfx942");
  EXPECT_EQ(device_->matrix_unit(), MatrixUnit::kSequentialFma);
}

TEST_F(EmulatorDeviceTest, AModuleIsLoadedOnceAndItsFunctionsToo) {
  const auto again = device_->load_module(test_kernels("gfx942"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->id, module_.id);
  const auto other = device_->load_module(mla_decode_object("gfx942"));
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other->id, module_.id);
  EXPECT_EQ(function("add_one").id, function("add_one").id);
  EXPECT_NE(function("add_one").id, function("multiply").id);
}

TEST_F(EmulatorDeviceTest, AModuleThatDoesNotLoadIsTrouble) {
  const auto missing = device_->load_module("/no/such.co");
  ASSERT_FALSE(missing.ok());
  expect_refusal(missing.trouble(), "/no/such.co");
  const auto other = device_->load_module(test_kernels("gfx90a"));
  ASSERT_FALSE(other.ok());
  expect_refusal(other.trouble(), "built for gfx90a, but the device is gfx942");
}

TEST_F(EmulatorDeviceTest, AnUnknownSymbolListsTheKernels) {
  const auto found = device_->function(module_, "add_two");
  ASSERT_FALSE(found.ok());
  expect_refusal(found.trouble(), "has no kernel add_two; it has: write_ids");
  expect_refusal(found.trouble(), " add_one multiply");
}

TEST_F(EmulatorDeviceTest, HandlesThatItDidNotGiveAreRefused) {
  for (const int id : {-1, 99}) {
    const auto found = device_->function(Module{id}, "add_one");
    ASSERT_FALSE(found.ok());
    expect_refusal(found.trouble(), "no such module");
    const Outcome launched = device_->launch(Function{id}, {}, {});
    ASSERT_FALSE(launched.ok());
    expect_refusal(launched.trouble(), "no such function");
    const Outcome replayed = device_->replay(Graph{id});
    ASSERT_FALSE(replayed.ok());
    expect_refusal(replayed.trouble(), "no such graph");
  }
}

TEST_F(EmulatorDeviceTest, ALaunchReadsAndWritesItsBuffers) {
  const Buffer in = buffer("in", Words(64, 7)), out = buffer("out", Words(64, 0));
  expect_launched("multiply", {{1}, {64}, 0},
                  KernelArguments().add(in.address).add(out.address).add(6u));
  EXPECT_TRUE(device_->synchronize().ok());
  EXPECT_EQ(words(out), Words(64, 42));
  EXPECT_EQ(words(in), Words(64, 7));
  EXPECT_EQ(device_->guard_damage(out), "");
}

TEST_F(EmulatorDeviceTest, PointersInTheCodeObjectAreRelocated) {
  const Buffer out = buffer("out", Words(8, 0));
  expect_launched("look_up", {{1}, {64}, 0}, KernelArguments().add(out.address));
  const Outcome done = device_->synchronize();
  EXPECT_TRUE(done.ok()) << done.trouble().text;
  EXPECT_EQ(words(out), (Words{2, 3, 5, 7, 1, 4, 9, 16}));
}

TEST_F(EmulatorDeviceTest, ArgumentsThatDoNotFitTheKernelAreRefused) {
  const LaunchConfig config{{1}, {64}, 0};
  const std::uint64_t p = buffer("p", Words(64, 0)).address;
  expect_refused("multiply", config, {}, "of kernel multiply is missing");
  expect_refused("multiply", config, KernelArguments().add(p).add(p),
                 "of kernel multiply is missing");
  expect_refused("multiply", config, KernelArguments().add(p).add(p).add(1u).add(1u),
                 "kernel multiply takes 3 arguments, got 4");
  expect_refused("multiply", config, KernelArguments().add(p).add(1u).add(p),
                 "of kernel multiply is at byte 16 with 8 bytes");
  expect_refused("multiply", config, KernelArguments().add(1u).add(1u).add(1u),
                 "is at byte 0 with 4 bytes; the code object wants it at 0 with 8");
  expect_refused("multiply", config, KernelArguments().add(p).add(p).add(std::uint16_t{1}),
                 "of kernel multiply is at byte 16 with 2 bytes");
}

TEST_F(EmulatorDeviceTest, HiddenArgumentsAreNotTheLaunchers) {
  const Buffer out = buffer("out", Words(10, 0));
  expect_launched("write_hidden", {{3}, {64}, 0}, KernelArguments().add(out.address));
  EXPECT_TRUE(device_->synchronize().ok());
  EXPECT_EQ(words(out)[0], 3u);
}

TEST_F(EmulatorDeviceTest, ABlockThatTheKernelCannotHaveIsRefused) {
  const auto arguments = KernelArguments().add(buffer("p", Words(64, 0)).address);
  expect_refused("add_one", {{1}, {1025}, 0}, arguments,
                 "kernel add_one: a block of 1025 threads; it was compiled for at most 1024");
  expect_refused("add_one", {{1}, {64, 64, 1}, 0}, arguments, "a block of 4096 threads");
  expect_refused("add_one", {{1}, {1u << 31, 1u << 31, 4}, 0}, arguments, "add_one: a block of");
  for (const LaunchConfig& empty :
       {LaunchConfig{{0}, {64}, 0}, LaunchConfig{{1, 0}, {64}, 0}, LaunchConfig{{1, 1, 0}, {64}, 0},
        LaunchConfig{{1}, {0}, 0}, LaunchConfig{{1}, {64, 0}, 0}, LaunchConfig{{1}, {64, 1, 0}, 0}})
    expect_refused("add_one", empty, arguments, "kernel add_one: an empty grid or block");
}

TEST_F(EmulatorDeviceTest, AGridOfTooManyThreadsIsRefused) {
  const auto arguments = KernelArguments().add(buffer("p", Words(64, 0)).address);
  for (const Dim3& grid : {Dim3{1u << 26, 1, 1}, Dim3{~0u, ~0u, 4}})
    expect_refused("add_one", {grid, {64}, 0}, arguments, "workgroups of 64 threads along x are");
  expect_refused("add_one", {{1, 1, 1u << 31}, {1, 1, 2}, 0}, arguments,
                 "along z are 2^32 or more");
}

TEST_F(EmulatorDeviceTest, MoreLdsThanAWorkgroupHasIsRefused) {
  const auto arguments = [&](std::uint32_t count) {
    const std::uint64_t p = buffer("p", Words(64, 0)).address;
    return KernelArguments().add(p).add(p).add(count);
  };
  expect_launched("reverse_dynamic", {{1}, {64}, 65536}, arguments(64));
  expect_refused("reverse_dynamic", {{1}, {64}, 65540}, arguments(64),
                 "kernel reverse_dynamic asks for 65540 bytes of LDS");
  expect_refused("reverse_dynamic", {{1}, {64}, ~0u}, arguments(64), "a workgroup has 65536");
}

TEST_F(EmulatorDeviceTest, AFailureSticksUntilSynchronizeAndIsReportedOnce) {
  const Buffer data = buffer("data", Words(64, 0));
  const LaunchConfig config{{1}, {64}, 0};
  crash();
  expect_launched("add_one", config, KernelArguments().add(data.address));  // does not run
  EXPECT_EQ(words(data), Words(64, 0));
  const Outcome failed = device_->synchronize();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.trouble().kind, TroubleKind::kCrashed);
  EXPECT_NE(failed.trouble().text.find("kernel add_one"), std::string::npos);
  EXPECT_TRUE(device_->synchronize().ok());
  expect_launched("add_one", config, KernelArguments().add(data.address));
  EXPECT_TRUE(device_->synchronize().ok());
  EXPECT_EQ(words(data), Words(64, 1));
}

TEST_F(EmulatorDeviceTest, TheFirstOfTwoFailuresIsReported) {
  const Buffer flag = buffer("flag", {0});
  expect_launched("wait_for", {{1}, {64}, 0}, KernelArguments().add(flag.address));
  crash();
  const Outcome failed = device_->synchronize();
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.trouble().kind, TroubleKind::kHung);
}

TEST_F(EmulatorDeviceTest, CopiesOutsideABufferAreRefused) {
  const Buffer data = buffer("data", Words(4, 5));
  std::array<std::byte, 32> bytes{};
  const std::span<std::byte> all(bytes);
  const auto refused = [&](const Outcome& done, const std::string& words) {
    ASSERT_FALSE(done.ok());
    expect_refusal(done.trouble(), words);
  };
  refused(device_->write(data, 0, all.first(17)),
          "a write of 17 bytes at 0 is outside a buffer of 16 bytes");
  refused(device_->write(data, 16, all.first(1)), "a write of 1 bytes at 16");
  refused(device_->read(data, ~std::size_t{0}, all.first(2)), "a read of 2 bytes at");
  EXPECT_TRUE(device_->write(data, 12, all.first(4)).ok());
  EXPECT_TRUE(device_->read(data, 16, all.first(0)).ok());
  EXPECT_EQ(words(data), (Words{5, 5, 5, 0}));
}

TEST_F(EmulatorDeviceTest, CopiesOfABufferThatIsGoneAreRefused) {
  const Buffer data = buffer("data", Words(4, 5));
  std::array<std::byte, 16> bytes{};
  device_->release(data);
  const Outcome written = device_->write(data, 0, bytes), read = device_->read(data, 0, bytes);
  ASSERT_FALSE(written.ok());
  expect_refusal(written.trouble(), "buffer that is not allocated");
  ASSERT_FALSE(read.ok());
  expect_refusal(read.trouble(), "buffer that is not allocated");
  const Buffer longer{buffer("other", Words(4, 5)).address, 4096};
  EXPECT_FALSE(device_->write(longer, 1024, bytes).ok());
}

TEST_F(EmulatorDeviceTest, AKernelThatUsesABufferThatIsGoneCrashes) {
  const Buffer data = buffer("data", Words(64, 5)), kept = buffer("kept", Words(64, 5));
  device_->release(data);
  expect_launched("add_one", {{1}, {64}, 0}, KernelArguments().add(data.address));
  EXPECT_FALSE(device_->synchronize().ok());
  device_->release_all();
  expect_launched("add_one", {{1}, {64}, 0}, KernelArguments().add(kept.address));
  EXPECT_FALSE(device_->synchronize().ok());
}

// Addresses too: a text of one run is found in the next.
TEST_F(EmulatorDeviceTest, AWildAccessSaysTheSameInEachRun) {
  const Buffer gone = buffer("gone", Words(64, 5));
  const Buffer in = buffer("in", Words(64, 5)), out = buffer("out", Words(64, 5));
  const auto trouble = [&](std::uint64_t to) {
    expect_launched("multiply", {{1}, {64}, 0}, KernelArguments().add(in.address).add(to).add(6u));
    const Outcome done = device_->synchronize();
    return done.ok() ? std::string("none")
                     : done.trouble().text.substr(0, done.trouble().text.find('\n'));
  };
  EXPECT_EQ(trouble(out.address + 100'000'000),
            "write of 4 bytes at 0x110009f6e100 by lane 0 is outside every buffer: 99999744 bytes "
            "after the end of out [0x110004010000, 256 bytes]");
  device_->release(gone);
  EXPECT_EQ(trouble(gone.address + 8),
            "write of 4 bytes at 0x110000010008 by lane 0 is outside every buffer: 8 bytes inside "
            "gone, which was released [0x110000010000, 256 bytes]");
}

TEST_F(EmulatorDeviceTest, TheScheduleIsTheCallers) {
  const auto tickets = [&](std::uint64_t seed) {
    device_->set_schedule({seed});
    const Buffer counter = buffer("counter", {0}), ticket = buffer("ticket", Words(30, 0));
    expect_launched("take_tickets", {{30}, {64}, 0},
                    KernelArguments().add(counter.address).add(ticket.address));
    EXPECT_TRUE(device_->synchronize().ok());
    return words(ticket);
  };
  const Words in_order = tickets(0), shuffled = tickets(3);
  EXPECT_NE(in_order, shuffled);
  EXPECT_EQ(tickets(0), in_order);
  EXPECT_EQ(tickets(3), shuffled);
}

class EmulatorGraph : public EmulatorDeviceTest {
 protected:
  void begin() { ASSERT_TRUE(device_->begin_capture().ok()); }
  Graph end() {
    const auto graph = device_->end_capture();
    EXPECT_TRUE(graph.ok());
    return graph.ok() ? *graph : Graph{};
  }
  const LaunchConfig config_{{1}, {64}, 0};
};

TEST_F(EmulatorGraph, ACapturedLaunchRunsOnlyWhenReplayed) {
  const Buffer data = buffer("data", Words(64, 0));
  begin();
  expect_launched("add_one", config_, KernelArguments().add(data.address));
  expect_launched("add_one", config_, KernelArguments().add(data.address));
  const Graph graph = end();
  EXPECT_EQ(words(data), Words(64, 0));
  for (std::uint32_t replay = 1; replay <= 100; ++replay) {
    ASSERT_TRUE(device_->replay(graph).ok());
    ASSERT_TRUE(device_->synchronize().ok());
    ASSERT_EQ(words(data), Words(64, 2 * replay));
  }
}

TEST_F(EmulatorGraph, ArgumentsAreFrozenAndBufferContentsAreNot) {
  const Buffer in = buffer("in", Words(64, 3)), out = buffer("out", Words(64, 0));
  std::uint32_t factor = 5;
  KernelArguments arguments;
  arguments.add(in.address).add(out.address).add(factor);
  begin();
  expect_launched("multiply", config_, arguments);
  const Graph graph = end();
  factor = 9;
  arguments.add(factor);
  for (const std::uint32_t value : {3u, 4u, 1000u}) {
    write(in, Words(64, value));
    ASSERT_TRUE(device_->replay(graph).ok());
    ASSERT_TRUE(device_->synchronize().ok());
    EXPECT_EQ(words(out), Words(64, 5 * value));
  }
}

TEST_F(EmulatorGraph, TwoGraphsKeepTheirOwnLaunches) {
  const Buffer a = buffer("a", Words(64, 0)), b = buffer("b", Words(64, 0));
  begin();
  expect_launched("add_one", config_, KernelArguments().add(a.address));
  const Graph first = end();
  begin();
  expect_launched("add_one", config_, KernelArguments().add(b.address));
  const Graph second = end();
  ASSERT_TRUE(device_->replay(second).ok());
  ASSERT_TRUE(device_->replay(second).ok());
  ASSERT_TRUE(device_->replay(first).ok());
  EXPECT_EQ(words(a), Words(64, 1));
  EXPECT_EQ(words(b), Words(64, 2));
}

TEST_F(EmulatorGraph, AnEmptyGraphReplays) {
  begin();
  const Graph graph = end();
  EXPECT_TRUE(device_->replay(graph).ok());
  EXPECT_TRUE(device_->synchronize().ok());
}

TEST_F(EmulatorGraph, AReplayThatCrashesIsReportedBySynchronize) {
  begin();
  crash();
  const Graph graph = end();
  EXPECT_TRUE(device_->synchronize().ok());
  EXPECT_TRUE(device_->replay(graph).ok());
  EXPECT_FALSE(device_->synchronize().ok());
}

TEST_F(EmulatorGraph, ABadLaunchIsRefusedWhenCaptured) {
  begin();
  const Outcome done = device_->launch(function("add_one"), config_, {});
  ASSERT_FALSE(done.ok());
  expect_refusal(done.trouble(), "of kernel add_one is missing", TroubleKind::kRefused);
  EXPECT_TRUE(device_->replay(end()).ok());
  EXPECT_TRUE(device_->synchronize().ok());
}

TEST_F(EmulatorGraph, CaptureBeginsAndEndsOnce) {
  const auto never_begun = device_->end_capture();
  ASSERT_FALSE(never_begun.ok());
  expect_refusal(never_begun.trouble(), "end_capture without begin_capture");
  begin();
  const Outcome twice = device_->begin_capture();
  ASSERT_FALSE(twice.ok());
  expect_refusal(twice.trouble(), "begin_capture during a capture");
  end();
  EXPECT_FALSE(device_->end_capture().ok());
}

TEST_F(EmulatorGraph, WhatWaitsForTheDeviceIsRefusedDuringCapture) {
  const Buffer data = buffer("data", Words(64, 8));
  begin();
  const Graph empty = end();
  begin();
  Words values(64, 1);
  const auto refused = [&](const Outcome& done, const std::string& words) {
    ASSERT_FALSE(done.ok()) << words;
    expect_refusal(done.trouble(), words);
  };
  refused(device_->synchronize(), "synchronize during stream capture");
  refused(device_->read(data, 0, std::as_writable_bytes(std::span(values))),
          "a read during stream capture");
  refused(device_->write(data, 0, std::as_bytes(std::span(values))),
          "a write during stream capture");
  refused(device_->replay(empty), "replay during stream capture");
  end();
  EXPECT_EQ(values, Words(64, 1));
  EXPECT_EQ(words(data), Words(64, 8));
}

}  // namespace
}  // namespace attest::emulator

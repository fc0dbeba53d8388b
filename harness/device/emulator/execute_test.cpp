// Whole launches of small kernels: what registers and memory hold at the start, how workgroups and
// waves are scheduled, and what is said when a kernel does wrong.
#include <fmt/format.h>
#include <xmmintrin.h>

#include <algorithm>

#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/launches.hpp"

namespace attest::emulator {
namespace {

class Execute : public testing::TestWithParam<std::string> {
 protected:
  Launches run_{GetParam()};
};

void expect_ids(Launches& run, Dim3 grid, Dim3 block) {
  const std::uint32_t width = grid.x * block.x, height = grid.y * block.y, depth = grid.z * block.z;
  const Buffer out = run.buffer("out", std::size_t{width} * height * depth);
  const auto done = run.launch("write_ids", grid, block,
                               KernelArguments()
                                   .add(out.address)
                                   .add(block.x)
                                   .add(block.y)
                                   .add(block.z)
                                   .add(width)
                                   .add(height));
  expect_done(done, std::uint64_t{grid.x} * grid.y * grid.z);
  const Words words = Launches::words(out);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const auto x = at % width, y = at / width % height, z = at / width / height;
    ASSERT_EQ(words[at], x | y << 10 | z << 20) << at;
  }
  EXPECT_EQ(run.memory.guard_damage(out), "");
}

TEST_P(Execute, EveryThreadOfAGridRunsOnceUnderItsOwnId) {
  for (const auto& [grid, block] :
       std::initializer_list<std::pair<Dim3, Dim3>>{{{1, 1, 1}, {1, 1, 1}},
                                                    {{7, 1, 1}, {64, 1, 1}},
                                                    {{3, 1, 1}, {256, 1, 1}},
                                                    {{5, 1, 1}, {65, 1, 1}},
                                                    {{3, 1, 1}, {63, 1, 1}},
                                                    {{2, 3, 1}, {16, 8, 1}},
                                                    {{3, 5, 1}, {7, 9, 1}},
                                                    {{2, 3, 5}, {8, 4, 2}},
                                                    {{3, 2, 2}, {5, 7, 3}},
                                                    {{1, 1, 1}, {1024, 1, 1}},
                                                    {{1, 1, 3}, {4, 4, 64}}}) {
    SCOPED_TRACE(testing::Message() << grid.x << " " << grid.y << " " << grid.z << " of " << block.x
                                    << " " << block.y << " " << block.z);
    expect_ids(run_, grid, block);
  }
}

TEST_P(Execute, ABarrierOrdersTheWavesOfAWorkgroup) {
  for (const std::uint64_t seed : {0, 1, 2, 3}) {
    run_.options.schedule.seed = seed;
    const Buffer in = run_.buffer("in", 1024, counting(1024)), out = run_.buffer("out", 1024);
    expect_done(run_.launch("reverse_block", {4}, {256},
                            KernelArguments().add(in.address).add(out.address)),
                4);
    const Words words = Launches::words(out);
    for (std::uint32_t i = 0; i < 1024; ++i) ASSERT_EQ(words[i], i / 256 * 256 + 255 - i % 256);
  }
}

TEST_P(Execute, DynamicLdsIsThere) {
  const Buffer in = run_.buffer("in", 192, counting(192)), out = run_.buffer("out", 192);
  const auto arguments = KernelArguments().add(in.address).add(out.address).add(192u);
  expect_done(run_.launch("reverse_dynamic", {{1}, {192}, 768}, arguments), 1);
  const Words words = Launches::words(out);
  for (std::uint32_t i = 0; i < 192; ++i) EXPECT_EQ(words[i], 191 - i);
  expect_trouble(run_.launch("reverse_dynamic", {{1}, {192}, 764}, arguments),
                 TroubleKind::kCrashed, {"kernel reverse_dynamic", "test_kernels.hip:"});
  expect_trouble(run_.launch("reverse_dynamic", {{1}, {192}, 65540}, arguments),
                 TroubleKind::kRefused, {"reverse_dynamic", "65540", "65536"});
}

TEST_P(Execute, HiddenArgumentsHoldTheLaunchsSizes) {
  const std::vector<std::pair<LaunchConfig, Words>> cases = {
      {{{5, 1, 1}, {64, 1, 1}, 0}, {5, 1, 1, 64, 1, 1, 0, 0, 0, 1}},
      {{{5, 6, 1}, {8, 4, 1}, 0}, {5, 6, 1, 8, 4, 1, 0, 0, 0, 2}},
      {{{5, 1, 1}, {8, 4, 1}, 0}, {5, 1, 1, 8, 4, 1, 0, 0, 0, 2}},
      {{{2, 3, 4}, {5, 6, 7}, 0}, {2, 3, 4, 5, 6, 7, 0, 0, 0, 3}}};
  for (const auto& [config, expected] : cases) {
    const Buffer out = run_.buffer("out", 10);
    const auto done = run_.launch("write_hidden", config, KernelArguments().add(out.address));
    ASSERT_TRUE(done.ok()) << done.trouble().text;
    EXPECT_EQ(Launches::words(out), expected);
  }
}

TEST_P(Execute, TheDispatchPacketHoldsTheLaunchsSizes) {
  const Buffer out = run_.buffer("out", 8);
  expect_done(run_.launch("write_packet", {2, 3, 4}, {5, 6, 7}, KernelArguments().add(out.address)),
              24);
  const Words packet = Launches::words(out);
  EXPECT_EQ(packet[1], 5u | 6u << 16);  // HSA: workgroup sizes are 16 bits from byte 4
  EXPECT_EQ(packet[2], 7u);
  EXPECT_EQ(packet[3], 10u);  // grid sizes in threads
  EXPECT_EQ(packet[4], 18u);
  EXPECT_EQ(packet[5], 28u);
  EXPECT_EQ(packet[6], 0u);  // private bytes
  EXPECT_EQ(packet[7], 0u);  // LDS bytes
}

TEST_P(Execute, AtomicAddsOfAllThreadsCount) {
  for (const int threads : {1, 2, 5}) {
    run_.options.threads = threads;
    const Buffer sum = run_.buffer("sum", 1, {0});
    expect_done(run_.launch("sum_ids", {37}, {100}, KernelArguments().add(sum.address).add(100u)),
                37);
    EXPECT_EQ(Launches::words(sum)[0], 3700u * 3699 / 2);
  }
}

Words tickets(Launches& run, std::uint64_t seed) {
  run.options.threads = 1;
  run.options.schedule.seed = seed;
  const Buffer counter = run.buffer("counter", 1, {0}), ticket = run.buffer("ticket", 50);
  expect_done(run.launch("take_tickets", {50}, {128},
                         KernelArguments().add(counter.address).add(ticket.address)),
              50);
  return Launches::words(ticket);
}

TEST_P(Execute, ScheduleSeedZeroRunsWorkgroupsInOrder) {
  EXPECT_EQ(tickets(run_, 0), counting(50));
}

TEST_P(Execute, AnotherScheduleSeedPermutesTheWorkgroupsTheSameWayEachTime) {
  const Words first = tickets(run_, 1), second = tickets(run_, 2);
  EXPECT_NE(first, counting(50));
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::ranges::is_permutation(first, counting(50)));
  EXPECT_TRUE(std::ranges::is_permutation(second, counting(50)));
  EXPECT_EQ(tickets(run_, 1), first);
}

Words wave_tickets(Launches& run, std::uint64_t seed) {
  run.options.schedule.seed = seed;
  const Buffer counter = run.buffer("counter", 1, {0}), ticket = run.buffer("ticket", 32);
  expect_done(run.launch("take_wave_tickets", {1}, {256},
                         KernelArguments().add(counter.address).add(ticket.address)),
              1);
  return Launches::words(ticket);
}

TEST_P(Execute, AScheduleSeedSwitchesWavesInTheMiddle) {
  EXPECT_EQ(wave_tickets(run_, 0), counting(32));  // a wave runs until it waits
  const Words mixed = wave_tickets(run_, 7);
  EXPECT_TRUE(std::ranges::is_permutation(mixed, counting(32)));
  EXPECT_EQ(wave_tickets(run_, 7), mixed);
  bool interleaved = false;
  for (int i = 0; i < 32; i += 8) interleaved |= mixed[i + 7] - mixed[i] != 7;
  EXPECT_TRUE(interleaved);
}

TEST_P(Execute, AStoreOutOfBoundsSaysWhoWhereAndWhat) {
  const Buffer out = run_.buffer("out", 100);
  const auto arguments = KernelArguments().add(out.address).add(103u).add(2u).add(70u);
  expect_trouble(
      run_.launch("store_at", {4}, {128}, arguments), TroubleKind::kCrashed,
      {"4 bytes at " + fmt::format("{:#x}", out.address + 412), "lane 6",
       "12 bytes after the end of out [" + fmt::format("{:#x}", out.address) + ", 400 bytes]",
       line_with("here: the store"), "global_store_dword", "kernel store_at", "workgroup (2, 0, 0)",
       "wave 1"});
  EXPECT_EQ(run_.memory.guard_damage(out), "");  // the store did not happen
}

TEST_P(Execute, TheLastWordIsInsideAndAnInactiveLaneIsNotChecked) {
  const Buffer out = run_.buffer("out", 100);
  expect_done(run_.launch("store_at", {4}, {128},
                          KernelArguments().add(out.address).add(99u).add(2u).add(70u)),
              4);
  EXPECT_EQ(Launches::words(out)[99], 1u);
  expect_done(run_.launch("store_at", {4}, {128},
                          KernelArguments().add(out.address).add(1u << 20).add(2u).add(128u)),
              4);
}

TEST_P(Execute, ALoadThatStraddlesTheEndIsOutOfBounds) {
  auto odd = run_.memory.allocate("odd", 64 * 4 - 1, kFill);
  ASSERT_TRUE(odd.ok());
  const Buffer out = run_.buffer("out", 64);
  expect_trouble(
      run_.launch("load_at", {1}, {64},
                  KernelArguments().add(odd->address).add(out.address).add(0u)),
      TroubleKind::kCrashed,
      {"lane 63", "252 bytes inside odd", line_with("here: the load"), "kernel load_at"});
}

TEST_P(Execute, ANullPointerIsOutOfBounds) {
  expect_trouble(run_.launch("add_one", {1}, {64}, KernelArguments().add(std::uint64_t{0})),
                 TroubleKind::kCrashed, {"at 0x0 by lane 0", "kernel add_one"});
}

TEST_P(Execute, AnLdsStoreBeyondTheWorkgroupsOwnIsOutOfBounds) {
  const Buffer out = run_.buffer("out", 64);
  expect_done(run_.launch("store_lds_at", {1}, {64}, KernelArguments().add(out.address).add(0u)),
              1);
  expect_trouble(run_.launch("store_lds_at", {1}, {64}, KernelArguments().add(out.address).add(1u)),
                 TroubleKind::kCrashed, {"lane 63", "256", "ds_write_b32", "kernel store_lds_at"});
}

TEST_P(Execute, AKernelWithoutEndIsHungWhereItLoops) {
  run_.options.instruction_budget = 20000;
  const Buffer flag = run_.buffer("flag", 1, {0});
  for (const std::uint64_t seed : {0, 5}) {
    run_.options.schedule.seed = seed;
    expect_trouble(run_.launch("wait_for", {1}, {256}, KernelArguments().add(flag.address)),
                   TroubleKind::kHung,
                   {"20000 wave instructions", "kernel wait_for", "test_kernels.hip:"});
  }
  const Buffer set = run_.buffer("flag", 1, {1});
  expect_done(run_.launch("wait_for", {1}, {256}, KernelArguments().add(set.address)), 1);
}

TEST_P(Execute, ATrapIsACrashOfTheFirstWorkgroupThatTraps) {
  const Buffer out = run_.buffer("out", 640);
  expect_trouble(run_.launch("trap_if", {10}, {64}, KernelArguments().add(out.address).add(3u)),
                 TroubleKind::kCrashed,
                 {"s_trap", line_with("here: the trap"), "kernel trap_if", "workgroup (3, 0, 0)"});
  expect_done(run_.launch("trap_if", {10}, {64}, KernelArguments().add(out.address).add(10u)), 10);
}

TEST_P(Execute, AnInstructionWithoutSemanticsMattersOnlyWhenReached) {
  const auto names = implemented_mnemonics();
  ASSERT_EQ(std::ranges::count(names, "v_mqsad_pk_u16_u8"), 0) << "pick another instruction";
  const Buffer out = run_.buffer("out", 64);
  expect_done(run_.launch("absent_if", {1}, {64}, KernelArguments().add(out.address).add(0u)), 1);
  EXPECT_EQ(Launches::words(out), Words(64, 7));
  const std::string before = line_with("here: the next line");
  const int line = std::stoi(before.substr(before.find(':') + 1)) + 1;
  expect_trouble(run_.launch("absent_if", {1}, {64}, KernelArguments().add(out.address).add(1u)),
                 TroubleKind::kCrashed,
                 {"no semantics", fmt::format("test_kernels.hip:{}:", line),
                  "v_mqsad_pk_u16_u8 v[10:11], v[12:13], v14, v[16:17]", "kernel absent_if"});
}

TEST_P(Execute, AGridThatCannotBeRunIsRefusedAndNotWrappedAround) {
  const Buffer out = run_.buffer("out", 64);
  const Dim3 wraps{0xffff0001, 65537, 65536};  // the product is 2^64 + 2^16
  for (const Dim3& grid :
       {wraps, Dim3{1u << 22, 1u << 22, 1u << 22}, Dim3{~0u, ~0u, 4}, Dim3{1u << 16, 1u << 16, 1},
        Dim3{1u << 28, 1, 2}, Dim3{1u << 31, 1u << 31, 4}, Dim3{~0u, ~0u, 0}, Dim3{0, 1, 1}}) {
    expect_trouble(run_.launch("add_one", grid, {64}, KernelArguments().add(out.address)),
                   TroubleKind::kRefused, {"kernel add_one: a grid of", "workgroups"});
  }
}

// A buffer that claims more than an address space, so that there is no memory to shadow it.
Result<RunStatistics> launch_without_memory(Launches& run, Check check, const Buffer& out) {
  Monitor monitor(CheckSet().add(check));
  monitor.allocated({out.address, std::size_t{1} << 56}, "out");
  run.options.monitor = &monitor;
  return run.launch("trap_if", {4}, {64}, KernelArguments().add(out.address).add(9u));
}
TEST_P(Execute, ALaunchWithoutMemoryForItsChecksLeavesNothingBehind) {
  const Buffer out = run_.buffer("out", 4096);
  const unsigned before = _mm_getcsr(), flushing = before | 0x8040;
  for (const char* const schedule : {"0", "i1"}) {
    run_.options.schedule = *parse_schedule(schedule);
    for (const Check check : {Check::kUninitialised, Check::kGlobalRace}) {
      _mm_setcsr(flushing);
      const auto launched = launch_without_memory(run_, check, out);
      const unsigned after = _mm_getcsr();
      _mm_setcsr(before);
      expect_trouble(launched, TroubleKind::kInfra, {"no memory on the host"});
      EXPECT_EQ(after, flushing);
    }
  }
  run_.memory.release(out);
  run_.memory.release_all();
  EXPECT_EQ(run_.memory.nearest(16), "no buffer is allocated");
}

INSTANTIATE_TEST_SUITE_P(Builds, Execute, testing::Values("gfx942", "gfx90a", "preload"),
                         [](const auto& build) { return build.param; });

Words scratch_input() {
  Words words(64 * 40);
  for (std::uint32_t i = 0; i < words.size(); ++i) words[i] = i * 2654435761u;
  return words;
}

TEST(ExecuteScratch, EachLaneHasItsOwnOnGfx942) {
  Launches run("gfx942");
  const Buffer in = run.buffer("in", 64 * 40, scratch_input()), out = run.buffer("out", 64);
  expect_done(
      run.launch("through_scratch", {1}, {64}, KernelArguments().add(in.address).add(out.address)),
      1);
  const Words from = Launches::words(in), words = Launches::words(out);
  for (std::size_t t = 0; t < 64; ++t)
    EXPECT_EQ(words[t], from[t * 40 + t % 40] + from[t * 40 + 39 - t % 40]) << t;
}

TEST(ExecuteScratch, IsRefusedOnGfx90aWithTheKernelsName) {
  Launches run("gfx90a");
  const Buffer in = run.buffer("in", 64 * 40, scratch_input()), out = run.buffer("out", 64);
  expect_trouble(
      run.launch("through_scratch", {1}, {64}, KernelArguments().add(in.address).add(out.address)),
      TroubleKind::kUsage, {"through_scratch", "scratch"});
}

TEST(ExecuteScratch, AGenericPointerReachesLdsGlobalAndScratchMemory) {
  Launches run("gfx942");
  const Buffer out = run.buffer("out", 64);
  expect_done(run.launch("store_generic", {1}, {64}, KernelArguments().add(out.address)), 1);
  EXPECT_EQ(Launches::words(out), counting(64, 100));
}

}  // namespace
}  // namespace attest::emulator

#include "harness/device/emulator/memory.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "harness/core/inputs.hpp"

namespace attest::emulator {
namespace {

constexpr std::uint16_t kFill = 0x7fb1;

std::byte* host(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

Buffer allocated(Memory& memory, const std::string& label, std::size_t bytes) {
  auto buffer = memory.allocate(label, bytes, kFill);
  EXPECT_TRUE(buffer.ok()) << buffer.trouble().text;
  return buffer.ok() ? *buffer : Buffer{};
}

TEST(Memory, ABufferHoldsItsFillPatternToTheLastByte) {
  Memory memory;
  const Buffer buffer = allocated(memory, "kv", 4097);
  EXPECT_EQ(buffer.bytes, 4097u);
  EXPECT_EQ(buffer.address % 256, 0u);
  for (std::size_t at = 0; at < buffer.bytes; ++at)
    ASSERT_EQ(*host(buffer.address + at), std::byte(at % 2 ? 0x7f : 0xb1)) << at;
}

TEST(Memory, FindKnowsTheExactBoundsOfABuffer) {
  Memory memory;
  const Buffer buffer = allocated(memory, "q", 1001);
  EXPECT_EQ(memory.find(buffer.address - 1), nullptr);
  const Allocation* first = memory.find(buffer.address);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->label, "q");
  EXPECT_EQ(first->begin, buffer.address);
  EXPECT_EQ(first->end, buffer.address + 1001);
  EXPECT_EQ(memory.find(buffer.address + 1000), first);
  EXPECT_EQ(memory.find(buffer.address + 1001), nullptr);
  EXPECT_EQ(memory.find(0), nullptr);
  EXPECT_EQ(memory.find(~std::uint64_t{0}), nullptr);
}

TEST(Memory, FindTellsManyBuffersApart) {
  Memory memory;
  std::array<Buffer, 20> buffers;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    buffers[i] = allocated(memory, "buffer " + std::to_string(i), 100 + i);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Allocation* last = memory.find(buffers[i].address + 99 + i);
    ASSERT_NE(last, nullptr);
    EXPECT_EQ(last->label, "buffer " + std::to_string(i));
    EXPECT_EQ(memory.find(buffers[i].address + 100 + i), nullptr);
  }
}

TEST(Memory, AnEmptyBufferHasAnAddressAndNoBytes) {
  Memory memory;
  const Buffer buffer = allocated(memory, "empty", 0);
  EXPECT_NE(buffer.address, 0u);
  EXPECT_EQ(memory.find(buffer.address), nullptr);
  EXPECT_EQ(memory.guard_damage(buffer), "");
  *host(buffer.address) = std::byte{3};
  EXPECT_EQ(memory.guard_damage(buffer), "the byte 0 after its end was written (0x03)");
}

TEST(Memory, UntouchedGuardsAndAFullBufferAreNoDamage) {
  Memory memory;
  const Buffer buffer = allocated(memory, "o", 333);
  std::memset(host(buffer.address), 0x5a, buffer.bytes);
  EXPECT_EQ(memory.guard_damage(buffer), "");
}

TEST(Memory, DamageAfterTheEndIsFoundAtEachByte) {
  for (const std::size_t at : {0, 1, 2, 63, 4095, 65535}) {
    Memory memory;
    const Buffer buffer = allocated(memory, "o", 333);
    *host(buffer.address + 333 + at) = std::byte{0x42};
    EXPECT_EQ(memory.guard_damage(buffer),
              "the byte " + std::to_string(at) + " after its end was written (0x42)");
  }
}

TEST(Memory, DamageBeforeTheStartIsFoundAtEachByte) {
  for (const std::size_t at : {1, 2, 3, 64, 4096, 65536}) {
    Memory memory;
    const Buffer buffer = allocated(memory, "o", 333);
    *host(buffer.address - at) = std::byte{0x42};
    EXPECT_EQ(memory.guard_damage(buffer),
              "the byte " + std::to_string(at) + " before its start was written (0x42)");
  }
}

TEST(Memory, ASwappedPatternByteIsDamage) {
  Memory memory;
  const Buffer buffer = allocated(memory, "o", 256);
  *host(buffer.address + 256) = std::byte{0x7f};  // the pattern's other byte
  EXPECT_NE(memory.guard_damage(buffer), "");
}

TEST(Memory, GuardsOfAForeignBufferAreRefused) {
  Memory memory;
  const Buffer buffer = allocated(memory, "o", 256);
  EXPECT_EQ(memory.guard_damage({buffer.address + 4, 8}), "the buffer is not one of this device's");
}

TEST(Memory, NearestNamesTheBufferTheSideAndTheDistance) {
  Memory memory;
  EXPECT_EQ(memory.nearest(0x1000), "no buffer is allocated");
  const Buffer buffer = allocated(memory, "kv_indices", 4096);
  const auto starts = [&](std::uint64_t address, const std::string& text) {
    EXPECT_TRUE(memory.nearest(address).starts_with(text)) << memory.nearest(address);
  };
  starts(buffer.address + 4096, "0 bytes after the end of kv_indices [0x");
  starts(buffer.address + 4108, "12 bytes after the end of kv_indices [0x");
  starts(buffer.address - 1, "1 bytes before the start of kv_indices [0x");
  starts(buffer.address + 8, "8 bytes inside kv_indices [0x");
  EXPECT_TRUE(memory.nearest(buffer.address).ends_with(", 4096 bytes]"));
}

TEST(Memory, NearestPicksTheCloserOfTwoBuffers) {
  Memory memory;
  std::array<std::byte, 4096> space;
  memory.adopt("low", std::span(space).first(100));
  memory.adopt("high", std::span(space).subspan(1000, 100));
  const auto begin = reinterpret_cast<std::uint64_t>(space.data());
  EXPECT_TRUE(memory.nearest(begin + 300).starts_with("200 bytes after the end of low"));
  EXPECT_TRUE(memory.nearest(begin + 900).starts_with("100 bytes before the start of high"));
}

TEST(Memory, FarFromAllOnlyWhatLiesAtTheSamePlaceInEachRunIsNearest) {
  Memory memory;
  std::array<std::byte, 64> image;  // on the stack, at the top of the address space
  memory.adopt("code", image);
  const auto above = reinterpret_cast<std::uint64_t>(image.data()) + 1'000'000;
  EXPECT_EQ(memory.nearest(above), "no buffer is near");
  allocated(memory, "q", 64);
  EXPECT_NE(memory.nearest(above).find(" bytes after the end of q [0x"), std::string::npos);
}

TEST(Memory, BuffersLieFarApartAtAddressesThatDoNotChange) {
  for (int run = 0; run < 2; ++run) {
    Memory memory;
    // Not computed: another process must find the same.
    EXPECT_EQ(allocated(memory, "q", 64).address, 0x1100'0001'0000u);
    EXPECT_EQ(allocated(memory, "kv", 20'000'000).address, 0x1100'0201'0000u);
    EXPECT_EQ(allocated(memory, "o", 64).address, 0x1100'0501'0000u);
    EXPECT_EQ(memory.nearest(0x1100'0501'1000),
              "4032 bytes after the end of o [0x110005010000, 64 bytes]");
  }
}

TEST(Memory, TheSameAllocationsAfterReleaseAllHaveTheSameAddresses) {
  Memory memory;
  const Buffer first = allocated(memory, "q", 64), second = allocated(memory, "kv", 64);
  memory.release_all();
  EXPECT_EQ(allocated(memory, "q", 64).address, first.address);
  EXPECT_EQ(allocated(memory, "kv", 64).address, second.address);
}

TEST(Memory, ObjectsThatLiveTogetherShareNoAddress) {
  Memory one;
  const Buffer of_one = allocated(one, "one", 64);
  std::uint64_t before = 0;
  for (int i = 0; i < 2; ++i) {
    Memory other;
    const Buffer of_other = allocated(other, "other", 64);
    EXPECT_GE(of_other.address - of_one.address, std::uint64_t{1} << 38);
    if (i == 1) EXPECT_EQ(of_other.address, before) << "a region is not given back";
    before = of_other.address;
  }
}

TEST(Memory, MoreObjectsThanRegionsStillHaveMemory) {
  std::vector<std::unique_ptr<Memory>> many;
  for (int i = 0; i < 103; ++i) {
    many.push_back(std::make_unique<Memory>());
    const Buffer a = allocated(*many.back(), "a", 64), b = allocated(*many.back(), "b", 64);
    EXPECT_EQ(*host(a.address), std::byte{0xb1});
    EXPECT_NE(a.address, b.address);
  }
}

TEST(Memory, WhatElseIsInTheWayIsLeftAlone) {
  const std::uint64_t at = 0x1100'0000'0000;
  auto other = PoisonedMemory::make(4096, 0x1234, at);
  ASSERT_TRUE(other.ok()) << other.trouble().text;
  ASSERT_EQ(reinterpret_cast<std::uint64_t>(other->data<std::byte>()), at);
  EXPECT_FALSE(PoisonedMemory::make(4096, 0x4321, at).ok());
  Memory memory;
  const Buffer moved = allocated(memory, "moved", 64), next = allocated(memory, "next", 64);
  EXPECT_GT(moved.address, 0x2a00'0000'0000u);
  EXPECT_EQ(next.address, 0x1100'0201'0000u);
  EXPECT_EQ(*host(moved.address), std::byte{0xb1});
  EXPECT_EQ(*host(at), std::byte{0x34});
}

long resident_kib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Memory, ASparseBufferOfFiveGiBCostsOnlyWhatIsTouched) {
  constexpr std::size_t kBytes = std::size_t{5} << 30;
  const long before = resident_kib();
  Memory memory;
  const Buffer buffer = allocated(memory, "pool", kBytes);
  for (std::size_t at = 0; at < kBytes; at += kBytes / 7)
    EXPECT_EQ(*host(buffer.address + at), std::byte(at % 2 ? 0x7f : 0xb1)) << at;
  EXPECT_EQ(*host(buffer.address + kBytes - 1), std::byte{0x7f});
  *host(buffer.address + kBytes / 2) = std::byte{9};
  EXPECT_EQ(*host(buffer.address + kBytes / 2), std::byte{9});
  EXPECT_EQ(*host(buffer.address + kBytes / 2 + 4096), std::byte{0xb1});
  EXPECT_EQ(memory.guard_damage(buffer), "");
  EXPECT_LT(resident_kib() - before, 512 * 1024);
}

TEST(Memory, AnImpossibleSizeIsTheMachinesTrouble) {
  Memory memory;
  for (const std::size_t bytes : {std::size_t{1} << 60, ~std::size_t{0}, ~std::size_t{0} - 4096}) {
    const auto buffer = memory.allocate("kv", bytes, kFill);
    ASSERT_FALSE(buffer.ok()) << bytes;
    EXPECT_EQ(buffer.trouble().kind, TroubleKind::kInfra);
    EXPECT_NE(buffer.trouble().text.find("kv"), std::string::npos);
    EXPECT_NE(buffer.trouble().text.find(std::to_string(bytes)), std::string::npos);
  }
  EXPECT_EQ(memory.nearest(0x1000), "no buffer is allocated");
}

TEST(Memory, AReleasedBufferIsNotFound) {
  Memory memory;
  const Buffer gone = allocated(memory, "gone", 64), kept = allocated(memory, "kept", 64);
  memory.release(gone);
  EXPECT_EQ(memory.find(gone.address), nullptr);
  ASSERT_NE(memory.find(kept.address), nullptr);
  EXPECT_EQ(memory.guard_damage(gone), "the buffer is not one of this device's");
  memory.release(gone);  // twice does nothing
  EXPECT_NE(memory.find(kept.address), nullptr);
}

TEST(Memory, AReleasedBuffersAddressesAreNotGivenAgainAndSayWhoseTheyWere) {
  Memory memory;
  const Buffer gone = allocated(memory, "gone", 64), kept = allocated(memory, "kept", 64);
  EXPECT_EQ(memory.released(gone.address), nullptr);
  memory.release(gone);
  for (int i = 0; i < 100; ++i) {
    const Buffer more = allocated(memory, "more", 64);
    EXPECT_NE(more.address, gone.address);
    memory.release(more);
  }
  ASSERT_NE(memory.released(gone.address + 63), nullptr);
  EXPECT_EQ(memory.released(gone.address + 63)->label, "gone");
  EXPECT_EQ(memory.released(gone.address + 64), nullptr);
  EXPECT_EQ(memory.released(kept.address), nullptr);
  EXPECT_TRUE(
      memory.nearest(gone.address + 8).starts_with("8 bytes inside gone, which was released [0x"))
      << memory.nearest(gone.address + 8);
  EXPECT_EQ(memory.nearest(gone.address + 64).find("gone"), std::string::npos);
}

TEST(Memory, WhatReleaseAllReleasedIsKnownUntilTheNextAllocation) {
  Memory memory;
  const Buffer first = allocated(memory, "first", 64), second = allocated(memory, "second", 64);
  memory.release_all();
  ASSERT_NE(memory.released(second.address), nullptr);
  EXPECT_EQ(memory.released(second.address)->label, "second");
  EXPECT_EQ(allocated(memory, "new", 64).address, first.address);
  EXPECT_EQ(memory.released(first.address), nullptr);
  EXPECT_EQ(memory.released(second.address), nullptr);
}

TEST(Memory, ReleaseAllKeepsWhatIsAdopted) {
  Memory memory;
  std::array<std::byte, 16> image;
  memory.adopt("code", image);
  const Buffer buffer = allocated(memory, "o", 64);
  memory.release_all();
  EXPECT_EQ(memory.find(buffer.address), nullptr);
  const Allocation* code = memory.find(reinterpret_cast<std::uint64_t>(image.data()) + 15);
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->label, "code");
  memory.abandon(image);
  EXPECT_EQ(memory.find(reinterpret_cast<std::uint64_t>(image.data())), nullptr);
}

}  // namespace
}  // namespace attest::emulator

#include "harness/core/elements.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "harness/core/poison.hpp"

namespace attest {
namespace {

std::uint8_t stored(double value, float descale) {
  const std::uint16_t drawn = encode_bf16(value);
  std::byte code{};
  store_elements(&drawn, 1, Storage::kFp8, descale, &code);
  return std::to_integer<std::uint8_t>(code);
}

TEST(Elements, DecodeEveryCodeOfBothFormats) {
  std::array<std::uint8_t, 256> codes{};
  for (int i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i);
  const Elements fp8(codes.data(), Storage::kFp8);
  for (int i = 0; i < 256; ++i) {
    const float value = decode_fp8(codes[i], Fp8::kE4m3fnuz);
    ASSERT_EQ(std::isnan(fp8[i]), std::isnan(value));
    if (i != 0x80) ASSERT_EQ(fp8[i], value);
  }
  std::vector<std::uint16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[i] = static_cast<std::uint16_t>(i);
  const Elements bf16(all.data(), Storage::kBf16);
  for (int i = 0; i < 65536; ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(bf16[i]), static_cast<std::uint32_t>(i) << 16);
  }
}

TEST(Elements, StepByElementsNotByBytes) {
  const std::array<std::uint8_t, 4> codes = {0x40, 0x48, 0x50, 0x58};  // 1, 2, 4, 8
  EXPECT_EQ((Elements(codes.data(), Storage::kFp8) + 2)[1], 8);
  const std::array<std::uint16_t, 4> numbers = {0x3f80, 0x4000, 0x4080, 0x4100};
  EXPECT_EQ((Elements(numbers.data(), Storage::kBf16) + 2)[1], 8);
}

TEST(Elements, ReadManyAsOneByOne) {
  std::array<std::uint8_t, 512> bytes{};
  for (int i = 0; i < 512; ++i) bytes[i] = static_cast<std::uint8_t>(i * 37);
  for (const Storage storage : {Storage::kBf16, Storage::kFp8}) {
    const Elements elements(bytes.data() + 2, storage);
    std::array<float, 250> read{};
    elements.read(250, read.data());
    for (int i = 0; i < 250; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(read[i]), std::bit_cast<std::uint32_t>(elements[i]));
    }
  }
}

TEST(StoreElements, KeepsBf16BitForBit) {
  const std::array<std::uint16_t, 3> drawn = {0x8000, 0x7fdb, 0x0001};
  std::array<std::uint16_t, 3> kept{};
  store_elements(drawn.data(), 3, Storage::kBf16, 1, reinterpret_cast<std::byte*>(kept.data()));
  EXPECT_EQ(kept, drawn);
}

TEST(StoreElements, DividesByTheDescaleFactorBeforeItRounds) {
  EXPECT_EQ(stored(3, 1), 0x4c);
  EXPECT_EQ(stored(3, 3), 0x40);
  EXPECT_EQ(stored(3, 0.5f), 0x54);
  EXPECT_EQ(stored(17, 1), 0x60);  // halfway between 16 and 18: to even
  EXPECT_EQ(stored(19, 1), 0x62);  // halfway between 18 and 20
}

TEST(StoreElements, SaturatesAndNeverStoresTheNanForAZero) {
  EXPECT_EQ(stored(240, 1), 0x7f);
  EXPECT_EQ(stored(1e30, 1), 0x7f);
  EXPECT_EQ(stored(-300, 1), 0xff);
  EXPECT_EQ(stored(1, 1e-3f), 0x7f);
  EXPECT_EQ(stored(-0.0, 1), 0x00);
  EXPECT_EQ(stored(-1e-6, 1), 0x00);
  EXPECT_EQ(stored(std::nan(""), 1), 0x80);
}

TEST(Poison, IsANanInEveryStorage) {
  EXPECT_TRUE(std::isnan(decode_bf16(poison_of(Storage::kBf16, kPoison16))));
  const std::uint16_t fp8 = poison_of(Storage::kFp8, kPoison16);
  EXPECT_TRUE(std::isnan(Elements(&fp8, Storage::kFp8)[0]));
  EXPECT_TRUE(std::isnan(Elements(&fp8, Storage::kFp8)[1]));
  // The 16-bit poison would be two numbers.
  EXPECT_FALSE(std::isnan(Elements(&kPoison16, Storage::kFp8)[0]));
  EXPECT_FALSE(std::isnan(Elements(&kPoison16, Storage::kFp8)[1]));
  EXPECT_EQ(poison_of(Storage::kFp8, 0x4049), 0x4049);
}

}  // namespace
}  // namespace attest

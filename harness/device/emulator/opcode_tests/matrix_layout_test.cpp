// Places of single elements, and the modifiers that say which blocks of A and lanes of B are used.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/opcode_tests/matrix_op.hpp"

namespace attest::emulator::opcode_tests {
namespace {

struct Position {
  int reg, bit, lane;
};
// Elements A[i][k], B[k][j] and D[i][j] of one block. Source: what AMD's matrix instruction
// calculator prints for these instructions; no formula of ours.
struct Published {
  const char* name;
  Position a, b, d;
};
const Published kPublished[] = {
    {"v_mfma_f32_32x32x1_2b_f32", {0, 0, 63}, {0, 0, 48}, {31, 0, 48}},
    {"v_mfma_f32_32x32x1_2b_f32", {0, 0, 47}, {0, 0, 63}, {23, 0, 63}},
    {"v_mfma_f32_16x16x1_4b_f32", {0, 0, 63}, {0, 0, 56}, {15, 0, 56}},
    {"v_mfma_f32_16x16x1_4b_f32", {0, 0, 39}, {0, 0, 47}, {11, 0, 31}},
    {"v_mfma_f32_4x4x1_16b_f32", {0, 0, 63}, {0, 0, 62}, {3, 0, 62}},
    {"v_mfma_f32_4x4x1_16b_f32", {0, 0, 33}, {0, 0, 35}, {1, 0, 35}},
    {"v_mfma_f32_32x32x2_f32", {0, 0, 63}, {0, 0, 48}, {15, 0, 48}},
    {"v_mfma_f32_32x32x2_f32", {0, 0, 47}, {0, 0, 63}, {7, 0, 63}},
    {"v_mfma_f32_16x16x4_f32", {0, 0, 63}, {0, 0, 56}, {3, 0, 56}},
    {"v_mfma_f32_16x16x4_f32", {0, 0, 39}, {0, 0, 47}, {3, 0, 31}},
    {"v_mfma_f32_32x32x4_2b_f16", {1, 16, 63}, {1, 16, 48}, {31, 0, 48}},
    {"v_mfma_f32_32x32x4_2b_f16", {1, 0, 47}, {1, 0, 63}, {23, 0, 63}},
    {"v_mfma_f32_16x16x4_4b_f16", {1, 16, 63}, {1, 16, 56}, {15, 0, 56}},
    {"v_mfma_f32_16x16x4_4b_f16", {1, 0, 39}, {1, 0, 47}, {11, 0, 31}},
    {"v_mfma_f32_4x4x4_16b_f16", {1, 16, 63}, {1, 16, 62}, {3, 0, 62}},
    {"v_mfma_f32_4x4x4_16b_f16", {1, 0, 33}, {1, 0, 35}, {1, 0, 35}},
    {"v_mfma_f32_32x32x8_f16", {1, 16, 63}, {1, 16, 48}, {15, 0, 48}},
    {"v_mfma_f32_32x32x8_f16", {0, 0, 47}, {0, 0, 63}, {7, 0, 63}},
    {"v_mfma_f32_16x16x16_bf16", {1, 16, 63}, {1, 16, 56}, {3, 0, 56}},
    {"v_mfma_f32_16x16x16_bf16", {0, 0, 39}, {0, 0, 47}, {3, 0, 31}},
    {"v_mfma_i32_32x32x4_2b_i8", {0, 24, 63}, {0, 24, 48}, {31, 0, 48}},
    {"v_mfma_i32_32x32x4_2b_i8", {0, 16, 47}, {0, 16, 63}, {23, 0, 63}},
    {"v_mfma_i32_16x16x4_4b_i8", {0, 24, 63}, {0, 24, 56}, {15, 0, 56}},
    {"v_mfma_i32_16x16x4_4b_i8", {0, 16, 39}, {0, 16, 47}, {11, 0, 31}},
    {"v_mfma_i32_4x4x4_16b_i8", {0, 24, 63}, {0, 24, 62}, {3, 0, 62}},
    {"v_mfma_i32_4x4x4_16b_i8", {0, 16, 33}, {0, 16, 35}, {1, 0, 35}},
    {"v_mfma_i32_32x32x16_i8", {1, 24, 63}, {1, 24, 48}, {15, 0, 48}},
    {"v_mfma_i32_32x32x16_i8", {0, 0, 47}, {0, 0, 63}, {7, 0, 63}},
    {"v_mfma_i32_16x16x32_i8", {1, 24, 63}, {1, 24, 56}, {3, 0, 56}},
    {"v_mfma_i32_16x16x32_i8", {0, 0, 39}, {0, 0, 47}, {3, 0, 31}},
    {"v_mfma_f32_32x32x16_fp8_fp8", {1, 24, 63}, {1, 24, 48}, {15, 0, 48}},
    {"v_mfma_f32_32x32x16_fp8_fp8", {0, 0, 47}, {0, 0, 63}, {7, 0, 63}},
    {"v_mfma_f32_16x16x32_bf8_bf8", {1, 24, 63}, {1, 24, 56}, {3, 0, 56}},
    {"v_mfma_f32_16x16x32_bf8_bf8", {0, 0, 39}, {0, 0, 47}, {3, 0, 31}},
    {"v_mfma_f32_16x16x8_xf32", {1, 0, 63}, {1, 0, 56}, {3, 0, 56}},
    {"v_mfma_f32_16x16x8_xf32", {0, 0, 39}, {0, 0, 47}, {3, 0, 31}},
    {"v_mfma_f32_32x32x4_xf32", {1, 0, 63}, {1, 0, 48}, {15, 0, 48}},
    {"v_mfma_f32_32x32x4_xf32", {0, 0, 47}, {0, 0, 63}, {7, 0, 63}},
    {"v_mfma_f64_16x16x4_f64", {0, 0, 63}, {0, 0, 56}, {6, 0, 56}},
    {"v_mfma_f64_16x16x4_f64", {0, 0, 39}, {0, 0, 47}, {2, 0, 63}},
    {"v_mfma_f64_4x4x4_4b_f64", {0, 0, 63}, {0, 0, 62}, {0, 0, 62}},
    {"v_mfma_f64_4x4x4_4b_f64", {0, 0, 41}, {0, 0, 43}, {0, 0, 27}},
};

const Mfma& mfma_of(const std::string& name) {
  const auto found =
      std::find_if(mfmas().begin(), mfmas().end(), [&](const Mfma& op) { return op.name == name; });
  EXPECT_NE(found, mfmas().end()) << name;
  return *found;
}

// Sets one element to 1.
void put_one(std::vector<u32>& file, int first, const Position& p, Element e) {
  const u64 one = small_integer(e, 1);
  file[static_cast<std::size_t>((first + p.reg) * 64 + p.lane)] |= static_cast<u32>(one << p.bit);
  if (e == Element::kF64)
    file[static_cast<std::size_t>((first + p.reg + 1) * 64 + p.lane)] = static_cast<u32>(one >> 32);
}

std::string text_of(const Mfma& op, const std::string& modifiers) {
  const int n = result_dwords(op);
  return fmt::format("{} {}, {}, {}, {}{}", op.name, registers('v', kD, n),
                     registers('v', kA, source_dwords(op, op.a)),
                     registers('v', kB, source_dwords(op, op.b)), registers('v', kC, n), modifiers);
}

// What a block of A is replaced by under cbsz and abid, by the words of the manual: "broadcast one
// block to 2^cbsz others".
int used_block(int block, int cbsz, int abid) {
  const int together = 1 << cbsz;
  return block / together * together + abid;
}
// The lane that B is read from, by the manual's list.
int used_lane(int lane, int blgp) {
  switch (blgp) {
    case 1:
      return lane < 32 ? lane : lane - 32;
    case 2:
      return lane < 32 ? lane + 32 : lane;
    case 3:
      return lane < 48 ? lane + 16 : lane - 48;
    case 4:
    case 5:
    case 6:
    case 7:
      return lane % 16 + 16 * (blgp - 4);
    default:
      return lane;
  }
}

bool cdna2(const Mfma& op) { return std::string(op.target) == "gfx90a"; }
// As AMD's matrix instruction calculator has it, by instruction.
bool has_cbsz(const Mfma& op) { return op.blocks > 1 && op.a != Element::kF64; }
bool has_blgp(const Mfma& op) {
  switch (op.a) {
    case Element::kF32:
      return true;
    case Element::kF16:
    case Element::kBf16:
    case Element::kI8:
      return op.blocks > 1 || cdna2(op);
    default:
      return false;
  }
}

// The instruction with modifiers gives what it gives without them on registers in which the lanes
// that are not used hold what the used ones do.
void check_broadcast(const Mfma& op, int cbsz, int abid, int blgp) {
  WaveState state = start_mfma(op, true, 5);
  WaveState plain = state;
  for (int lane = 0; lane < 64; ++lane) {
    // Lanes of A: row + m * (block + blocks * ...).
    const int block = lane / op.m % op.blocks;
    const int from = lane + op.m * (used_block(block, cbsz, abid) - block);
    for (int r = 0; r < source_dwords(op, op.a); ++r)
      plain.vgpr[(kA + r) * 64 + lane] = state.vgpr[(kA + r) * 64 + from];
    for (int r = 0; r < source_dwords(op, op.b); ++r)
      plain.vgpr[(kB + r) * 64 + lane] = state.vgpr[(kB + r) * 64 + used_lane(lane, blgp)];
  }
  const std::string text = text_of(op, fmt::format(" cbsz:{} abid:{} blgp:{}", cbsz, abid, blgp));
  run_mfma(text, op.target, state);
  if (::testing::Test::HasFatalFailure()) return;
  compare_mfma(op, plain, state.vgpr, kD, true, true, text);
}

}  // namespace

TEST(MatrixLayout, ElementsLieWhereAmdsCalculatorPutsThem) {
  for (const Published& p : kPublished) {
    const Mfma& op = mfma_of(p.name);
    WaveState state, want;
    put_one(state.vgpr, kA, p.a, op.a);
    put_one(state.vgpr, kB, p.b, op.b);
    const Element result = op.a == Element::kF64 ? Element::kF64 : Element::kF32;
    if (integers(op))
      want.vgpr[static_cast<std::size_t>(p.d.reg * 64 + p.d.lane)] = 1;
    else
      put_one(want.vgpr, 0, p.d, result);
    run_mfma(text_of(op, ""), op.target, state);
    if (HasFatalFailure()) return;
    for (int i = 0; i < result_dwords(op) * 64; ++i) {
      ASSERT_EQ(state.vgpr[static_cast<std::size_t>(kD * 64 + i)],
                want.vgpr[static_cast<std::size_t>(i)])
          << p.name << ", register " << i / 64 << ", lane " << i % 64;
    }
  }
}

TEST(MatrixLayout, BlocksOfAAreBroadcast) {
  for (const Mfma& op : mfmas()) {
    for (int cbsz = 0; has_cbsz(op) && 1 << cbsz <= op.blocks; ++cbsz) {
      for (int abid = 0; abid < 1 << cbsz; ++abid) {
        check_broadcast(op, cbsz, abid, 0);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(MatrixLayout, LanesOfBAreBroadcastAndRotated) {
  for (const Mfma& op : mfmas()) {
    for (int blgp = 0; has_blgp(op) && blgp < 8; ++blgp) {
      check_broadcast(op, 0, 0, blgp);
      if (has_cbsz(op)) check_broadcast(op, 1, 1, blgp);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(MatrixLayout, ModifiersThatAnInstructionHasNotAreRefused) {
  for (const Mfma& op : mfmas()) {
    std::vector<std::string> undefined;
    if (!has_blgp(op) && op.a != Element::kF64) undefined.push_back(" blgp:1");
    if (!has_cbsz(op)) undefined.push_back(" cbsz:1");
    if (has_cbsz(op)) undefined.push_back(" cbsz:1 abid:2");
    for (const std::string& modifiers : undefined) {
      WaveState state = start_mfma(op, true, 1);
      Memory memory;
      const std::string text = text_of(op, modifiers);
      const Outcome outcome = run_snippet(text, op.target, memory, state);
      ASSERT_FALSE(outcome.ok()) << text;
      EXPECT_NE(outcome.trouble().text.find("cbsz, abid and blgp"), std::string::npos)
          << outcome.trouble().text;
    }
  }
}

TEST(MatrixLayout, NegOfF64FlipsTheSignsOfItsMatrices) {
  for (const char* name : {"v_mfma_f64_16x16x4_f64", "v_mfma_f64_4x4x4_4b_f64"}) {
    const Mfma& op = mfma_of(name);
    const WaveState before = start_mfma(op, true, 3);
    for (int bits = 0; bits < 8; ++bits) {
      WaveState state = before, flipped = before;
      const int width[] = {source_dwords(op, op.a), source_dwords(op, op.b), result_dwords(op)};
      const int first[] = {kA, kB, kC};
      for (int matrix = 0; matrix < 3; ++matrix) {
        for (int r = 1; bits >> matrix & 1 && r < width[matrix]; r += 2) {
          for (int lane = 0; lane < 64; ++lane)
            flipped.vgpr[(first[matrix] + r) * 64 + lane] ^= 0x80000000;
        }
      }
      const std::string text =
          text_of(op, fmt::format(" neg:[{},{},{}]", bits & 1, bits >> 1 & 1, bits >> 2 & 1));
      run_mfma(text, op.target, state);
      if (HasFatalFailure()) return;
      compare_mfma(op, flipped, state.vgpr, kD, true, true, text);
    }
  }
}

}  // namespace attest::emulator::opcode_tests

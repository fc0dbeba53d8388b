// SOP1, SOP2, SOPC, SOPK: one value in, one value and SCC out. Rules: CDNA3 ISA guide,
// "SOP1/SOP2/SOPC/SOPK instructions".
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/scalar_op.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

std::string scalar_register(int first, int width) {
  return width == 1 ? fmt::format("s{}", first) : fmt::format("s[{}:{}]", first, first + width - 1);
}

// d in s[0:1], a in s[2:3], b in s[4:5]; `constant` (an inline constant) replaces the last source
// register.
std::string text_of(const ScalarOp& op, u16 immediate, const char* constant) {
  const std::string d = scalar_register(0, op.d ? op.d : 1);
  const std::string a = op.a ? scalar_register(2, op.a) : "",
                    b = op.b ? scalar_register(4, op.b) : "";
  switch (op.shape) {
    case kDS:
      return fmt::format("{} {}, {}", op.name, d, constant ? constant : a);
    case kDSS:
      return fmt::format("{} {}, {}, {}", op.name, d, a, constant ? constant : b);
    case kSS:
      return fmt::format("{} {}, {}", op.name, a, constant ? constant : b);
    case kDImm:
      return fmt::format("{} {}, {:#x}", op.name, d, immediate);
    default:
      return fmt::format("{} {}, {:#x}", op.name, a, immediate);
  }
}

void set_pair(WaveState& state, int at, u64 value) {
  state.sgpr[at] = static_cast<u32>(value);
  state.sgpr[at + 1] = static_cast<u32>(value >> 32);
}

void check_one(const ScalarOp& op, Scalar x, u16 immediate, const char* constant) {
  WaveState state;
  set_pair(state, 0, x.d);
  set_pair(state, 2, x.a);
  set_pair(state, 4, x.b);
  state.scc = x.scc;
  state.exec = x.exec;
  const std::string text = text_of(op, immediate, constant);
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  if (op.shape == kDImm || op.shape == kSImm) x.b = immediate;
  if (constant)
    (op.shape == kDS ? x.a : x.b) =
        (op.shape == kDS ? op.a : op.b) == 2 ? ~u64{15} : u64{0xfffffff0};
  const After want = op.rule(x);
  const std::string where = fmt::format("{} a={:#x} b={:#x} d={:#x} scc={} exec={:#x}", text, x.a,
                                        x.b, x.d, x.scc, x.exec);
  EXPECT_EQ(state.scc, want.scc.value_or(x.scc)) << where << ": scc";
  EXPECT_EQ(state.exec, want.exec.value_or(x.exec)) << where << ": exec";
  const u64 got = state.sgpr[0] | u64{state.sgpr[1]} << 32;
  const u64 keep = op.d == 2 ? 0 : ~u64{0} << 32;
  const u64 d = op.d == 0 ? x.d : (want.d & ~keep) | (x.d & keep);
  EXPECT_EQ(got, d) << where << fmt::format(": got {:#x}, the rule says {:#x}", got, d);
}

std::vector<ScalarOp> all_ops() {
  std::vector<ScalarOp> ops = scalar_moves();
  for (const auto* more : {&scalar_arithmetic(), &scalar_compares()})
    ops.insert(ops.end(), more->begin(), more->end());
  return ops;
}

// A few dozen pairs that meet every edge case at least once; both values of SCC.
void check_scalar(const ScalarOp& op) {
  const auto& as = interesting(op.ka);
  const auto& bs = interesting(op.kb);
  const std::size_t count = std::max<std::size_t>(as.size(), bs.size()) * 2;
  for (std::size_t n = 0; n < count; ++n) {
    Scalar x;
    x.a = n % 3 == 2 ? draw(op.ka, n) : as[n % as.size()];
    x.b = n % 5 == 4 ? draw(op.kb, ~n) : bs[(n * 7 + n / bs.size()) % bs.size()];
    if (op.a == 1) x.a &= 0xffffffffu;
    if (op.b == 1) x.b &= 0xffffffffu;
    // Field descriptors of s_bfe: offset in [4:0] or [5:0], width in [22:16].
    if (std::string(op.name).find("_bfe_") != std::string::npos)
      x.b = (n * 5) % 70 | (n * 11 % 72) << 16;
    x.d = draw(Kind::kU64, n + 77);
    x.exec = draw(Kind::kU64, n + 99);
    x.scc = n % 2;
    check_one(op, x, static_cast<u16>(interesting(Kind::kU16)[n % interesting(Kind::kU16).size()]),
              nullptr);
    if (n < 2 && op.shape != kDImm && op.shape != kSImm) check_one(op, x, 0, "-16");
  }
}

}  // namespace

std::vector<std::string> scalar_mnemonics() {
  std::vector<std::string> names;
  for (const ScalarOp& op : all_ops()) names.push_back(op.name);
  return names;
}

TEST(Scalar, FollowsTheIsaGuide) {
  for (const ScalarOp& op : all_ops()) {
    if (!implemented(op.name)) continue;
    SCOPED_TRACE(op.name);
    check_scalar(op);
  }
}

TEST(Scalar, ReadsAndWritesSpecialRegisters) {
  WaveState state;
  state.vcc = 0x1111222233334444ull;
  state.exec = 0xff00ff00ff00ff00ull;
  state.m0 = 77;
  Memory memory;
  const Outcome outcome = run_snippet(
      "s_mov_b64 s[0:1], vcc\ns_mov_b64 s[2:3], exec\ns_mov_b32 s4, m0\ns_mov_b32 s5, "
      "vcc_hi\ns_mov_b32 s6, exec_lo\n"
      "s_mov_b32 m0, 0x12345\ns_mov_b64 vcc, -1\ns_mov_b64 exec, 0xf0\ns_mov_b32 s7, "
      "src_scc\ns_mov_b32 s8, 0.5\n"
      "s_mov_b64 s[10:11], -16\ns_mov_b64 s[12:13], 0xf000000f",
      "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  EXPECT_EQ(state.sgpr[0], 0x33334444u);
  EXPECT_EQ(state.sgpr[1], 0x11112222u);
  EXPECT_EQ(state.sgpr[2], 0xff00ff00u);
  EXPECT_EQ(state.sgpr[4], 77u);
  EXPECT_EQ(state.sgpr[5], 0x11112222u);
  EXPECT_EQ(state.sgpr[6], 0xff00ff00u);
  EXPECT_EQ(state.m0, 0x12345u);
  EXPECT_EQ(state.vcc, ~u64{0});
  EXPECT_EQ(state.exec, 0xf0u);
  EXPECT_EQ(state.sgpr[7], 0u);
  EXPECT_EQ(state.sgpr[8], 0x3f000000u);
  EXPECT_EQ(state.sgpr[10], 0xfffffff0u);
  EXPECT_EQ(state.sgpr[11], 0xffffffffu);
  EXPECT_EQ(state.sgpr[12], 0xf000000fu);
  // LLVM AMDGPUUsage and the guide: a literal of a 64-bit scalar operand is zero-extended.
  EXPECT_EQ(state.sgpr[13], 0u);
}

}  // namespace attest::emulator::opcode_tests

// v_cmp_*, v_cmpx_* and the class tests. Rules: CDNA3 ISA guide, "VOPC instructions": one result
// bit a lane, inactive lanes give 0; v_cmpx also writes EXEC.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness/device/emulator/executor.hpp"
#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

struct Type {
  const char* name;
  Kind kind;
};
constexpr Type kFloatTypes[] = {{"f16", Kind::kF16}, {"f32", Kind::kF32}, {"f64", Kind::kF64}};
constexpr Type kIntTypes[] = {{"i16", Kind::kU16}, {"u16", Kind::kU16}, {"i32", Kind::kU32},
                              {"u32", Kind::kU32}, {"i64", Kind::kU64}, {"u64", Kind::kU64}};
// For each condition: the result when a < b, a == b, a > b, and when they are unordered.
struct Condition {
  const char* name;
  bool less, equal, greater, unordered;
};
constexpr Condition kFloatConditions[] = {
    {"f", 0, 0, 0, 0},   {"lt", 1, 0, 0, 0},  {"eq", 0, 1, 0, 0},  {"le", 1, 1, 0, 0},
    {"gt", 0, 0, 1, 0},  {"lg", 1, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"o", 1, 1, 1, 0},
    {"u", 0, 0, 0, 1},   {"nge", 1, 0, 0, 1}, {"nlg", 0, 1, 0, 1}, {"ngt", 1, 1, 0, 1},
    {"nle", 0, 0, 1, 1}, {"neq", 1, 0, 1, 1}, {"nlt", 0, 1, 1, 1}, {"tru", 1, 1, 1, 1}};
constexpr Condition kIntConditions[] = {{"f", 0, 0, 0, 0},  {"lt", 1, 0, 0, 0}, {"eq", 0, 1, 0, 0},
                                        {"le", 1, 1, 0, 0}, {"gt", 0, 0, 1, 0}, {"ne", 1, 0, 1, 0},
                                        {"ge", 0, 1, 1, 0}, {"t", 1, 1, 1, 0}};

template <class T>
bool holds(const Condition& c, T a, T b) {
  if (a < b) return c.less;
  if (a == b) return c.equal;
  return a > b ? c.greater : c.unordered;
}

bool truth(const std::string& type, const Condition& c, const Lane& x) {
  if (type == "f16") return holds(c, half_value(x.h(0)), half_value(x.h(1)));
  if (type == "f32") return holds(c, x.f(0), x.f(1));
  if (type == "f64") return holds(c, x.g(0), x.g(1));
  if (type == "i16") return holds(c, i16(x.u(0)), i16(x.u(1)));
  if (type == "u16") return holds(c, u16(x.u(0)), u16(x.u(1)));
  if (type == "i32") return holds(c, x.i(0), x.i(1));
  if (type == "u32") return holds(c, x.u(0), x.u(1));
  if (type == "i64") return holds(c, i64(x.s[0]), i64(x.s[1]));
  return holds(c, x.s[0], x.s[1]);
}

// Bits of the class mask: signalling NaN, quiet NaN, -inf, -normal, -denormal, -0, +0, +denormal,
// +normal, +inf.
int class_bit(u64 b, int exponent_bits, int mantissa_bits) {
  const bool negative = (b >> (exponent_bits + mantissa_bits)) & 1;
  const u64 e_max = (u64{1} << exponent_bits) - 1, e = (b >> mantissa_bits) & e_max;
  const u64 m = b & ((u64{1} << mantissa_bits) - 1);
  if (e == e_max && m != 0) return (m >> (mantissa_bits - 1)) & 1 ? 1 : 0;
  if (e == e_max) return negative ? 2 : 9;
  if (e != 0) return negative ? 3 : 8;
  if (m != 0) return negative ? 4 : 7;
  return negative ? 5 : 6;
}
bool class_truth(const std::string& type, const Lane& x) {
  const int bit = type == "f16"   ? class_bit(x.u(0) & 0xffff, 5, 10)
                  : type == "f32" ? class_bit(x.u(0), 8, 23)
                                  : class_bit(x.s[0], 11, 52);
  return (x.u(1) >> bit) & 1;
}

using Truth = bool (*)(const std::string& type, const Condition& c, const Lane& x);

struct Compare {
  std::string mnemonic, type;
  Kind kinds[2];
  Condition condition;
  Truth truth;
  bool writes_exec() const { return mnemonic.starts_with("v_cmpx"); }
};

std::vector<Compare> compares() {
  std::vector<Compare> all;
  for (const char* prefix : {"v_cmp", "v_cmpx"}) {
    for (const Type& t : kFloatTypes) {
      for (const Condition& c : kFloatConditions) {
        all.push_back(
            {fmt::format("{}_{}_{}", prefix, c.name, t.name), t.name, {t.kind, t.kind}, c, truth});
      }
      const auto by_class = [](const std::string& type, const Condition&, const Lane& x) {
        return class_truth(type, x);
      };
      all.push_back(
          {fmt::format("{}_class_{}", prefix, t.name), t.name, {t.kind, Kind::kU32}, {}, by_class});
    }
    for (const Type& t : kIntTypes) {
      for (const Condition& c : kIntConditions) {
        all.push_back(
            {fmt::format("{}_{}_{}", prefix, c.name, t.name), t.name, {t.kind, t.kind}, c, truth});
      }
    }
  }
  return all;
}

u64 value(const Compare& cmp, int operand, u64 point) {
  if (operand == 1 && cmp.mnemonic.find("class") != std::string::npos)
    return u64{1} << (point % 11) | (point % 7 == 0 ? 0x155 : 0);
  const auto& edges = interesting(cmp.kinds[operand]);
  const u64 pairs = edges.size() * edges.size();
  if (point >= pairs)
    return draw(cmp.kinds[operand],
                point / (operand == 0 ? 1 : 1 + point % 2) * 4 + operand % (1 + point % 3));
  return edges[operand == 0 ? point % edges.size() : point / edges.size()];
}

struct Way {
  const char* suffix;
  const char* destination;
  u64 exec;
  u32 mode;
  bool negate_first = false;
};

std::string operand(char file, int at, Kind kind) {
  return width_of(kind) == 2 ? fmt::format("{}[{}:{}]", file, at, at + 1)
                             : fmt::format("{}{}", file, at);
}

// Runs one compare on 64 lanes for points [first, first + 64).
void check_points(const Compare& cmp, const Way& way, u64 first) {
  WaveState state;
  state.exec = way.exec;
  state.mode = way.mode;
  state.vcc = 0x123456789abcdef0ull;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (int k = 0; k < 2; ++k) {
      const u64 v = value(cmp, k, first + lane);
      state.vgpr[2 * k * 64 + lane] = static_cast<u32>(v);
      state.vgpr[(2 * k + 1) * 64 + lane] = static_cast<u32>(v >> 32);
    }
  }
  const std::string text = fmt::format(
      "{}{} {}, {}{}, {}", cmp.mnemonic, way.suffix, way.destination, way.negate_first ? "-" : "",
      operand('v', 0, cmp.kinds[0]), operand('v', 2, cmp.kinds[1]));
  const WaveState before = state;
  Memory memory;
  const Outcome outcome = run_snippet(text, "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << text << ": " << outcome.trouble().text;
  u64 want = 0;
  for (unsigned lane = 0; lane < 64; ++lane) {
    Lane x;
    x.mode.bits = way.mode;
    for (int k = 0; k < 2; ++k)
      x.s[k] = before.vgpr[2 * k * 64 + lane] | u64{before.vgpr[(2 * k + 1) * 64 + lane]} << 32;
    if (way.negate_first)
      x.s[0] ^= cmp.kinds[0] == Kind::kF64   ? 1ull << 63
                : cmp.kinds[0] == Kind::kF16 ? 0x8000u
                                             : 0x80000000u;
    want |= u64{cmp.truth(cmp.type, cmp.condition, x)} << lane;
  }
  want &= way.exec;
  const bool to_vcc = std::string(way.destination) == "vcc";
  const u64 got = to_vcc ? state.vcc : state.sgpr[20] | u64{state.sgpr[21]} << 32;
  const u64 wrong = got ^ want;
  const int lane = wrong ? std::countr_zero(wrong) : 0;
  EXPECT_EQ(got, want) << text
                       << fmt::format(" mode {:#x}, lane {}: {:#x}:{:#x} with {:#x}:{:#x}",
                                      way.mode, lane, before.vgpr[64 + lane], before.vgpr[lane],
                                      before.vgpr[192 + lane], before.vgpr[128 + lane]);
  EXPECT_EQ(state.exec, cmp.writes_exec() ? want : way.exec) << text;
  if (!to_vcc) EXPECT_EQ(state.vcc, before.vcc) << text;
}

void check_compare(const Compare& cmp) {
  const bool floats = cmp.type[0] == 'f';
  const u64 edges = interesting(cmp.kinds[0]).size();
  for (u64 first = 0; first < edges * edges + 128; first += 64)
    check_points(cmp, {"_e32", "vcc", ~u64{0}, 0xf0}, first);
  for (u64 first : {0, 64, 128}) {
    check_points(cmp, {"_e64", "s[20:21]", ~u64{0}, 0xf0}, first);
    check_points(cmp, {"_e64", "s[20:21]", 0xf0f0123400ff8001ull, 0xf0}, first);
    check_points(cmp, {"_e32", "vcc", 0x80000000ffff0001ull, 0xf0}, first);
    check_points(cmp, {"_e32", "vcc", 0, 0xf0}, first);
    if (!floats) continue;
    check_points(cmp, {"_e64", "s[20:21]", ~u64{0}, 0xf0, true}, first);
    if (cmp.mnemonic.find("class") == std::string::npos)
      check_points(cmp, {"_e32", "vcc", ~u64{0}, 0x00}, first);
  }
}

}  // namespace

std::vector<std::string> compare_mnemonics() {
  std::vector<std::string> names;
  for (const Compare& cmp : compares()) names.push_back(cmp.mnemonic);
  return names;
}

TEST(Compare, EveryConditionHoldsExactlyWhereTheIsaGuideSays) {
  for (const Compare& cmp : compares()) {
    if (!implemented(cmp.mnemonic)) continue;
    SCOPED_TRACE(cmp.mnemonic);
    check_compare(cmp);
  }
}

TEST(Compare, TakesScalarAndConstantOperands) {
  WaveState state;
  for (unsigned lane = 0; lane < 64; ++lane) state.vgpr[lane] = lane;
  state.sgpr[4] = 17;
  state.sgpr[6] = 40;
  state.sgpr[7] = 0;
  Memory memory;
  const Outcome outcome = run_snippet(
      "v_cmp_gt_u32_e32 vcc, s4, v0\nv_cmp_lt_u32_e64 s[10:11], v0, s4\nv_cmp_eq_u32_e64 s[12:13], "
      "33, v0\n"
      "v_cmp_le_u32_e32 vcc, 0x12345, v0",
      "gfx942", memory, state);
  ASSERT_TRUE(outcome.ok()) << outcome.trouble().text;
  EXPECT_EQ(state.sgpr[10] | u64{state.sgpr[11]} << 32, (u64{1} << 17) - 1);
  EXPECT_EQ(state.sgpr[12] | u64{state.sgpr[13]} << 32, u64{1} << 33);
  EXPECT_EQ(state.vcc, 0u);
}

}  // namespace attest::emulator::opcode_tests

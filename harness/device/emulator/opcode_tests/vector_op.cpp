#include "harness/device/emulator/opcode_tests/vector_op.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "harness/device/emulator/executor.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr int kCopies = 16;  // instructions in one snippet, each on its own registers
constexpr unsigned kLanes = 64;
// First registers of the operands: even, because gfx90a and gfx942 want 64-bit operands aligned.
constexpr int kSourceBase[3] = {0, 32, 64};
constexpr int kResultBase = 96;
constexpr int kScalarBase = 8;  // an SGPR pair for a scalar operand

// One way to write the instruction.
struct Variant {
  std::string label;
  const char* suffix = "";
  std::string modifiers = {};  // appended
  int scalar = -1;             // the operand that is an SGPR
  int constant = -1;           // the operand that is an inline constant or a literal ...
  const char* constant_text = "";
  u64 constant_bits = 0;  // ... and its value
  bool neg[3] = {}, abs[3] = {};
  bool clamp = false;
  int omod = 0;  // 1: *2, 2: *4, 3: /2
  u32 mode = 0xf0;
  u64 exec = ~u64{0};
  unsigned shift = 0;      // rotates the cross product against the lanes
  unsigned row_ror = 0;    // DPP: src0 comes from another lane of its row
  bool high_word = false;  // SDWA: src0 is the upper half of its register
};

std::string register_text(char file, int first, int width) {
  return width == 1 ? fmt::format("{}{}", file, first)
                    : fmt::format("{}[{}:{}]", file, first, first + width - 1);
}

std::string operand_text(const VectorOp& op, const Variant& v, int index, int copy) {
  const int width = width_of(op.sources[index]);
  std::string text = index == v.scalar ? register_text('s', kScalarBase, width)
                     : index == v.constant
                         ? std::string(v.constant_text)
                         : register_text('v', kSourceBase[index] + 2 * copy, width);
  if (v.abs[index]) text = "|" + text + "|";
  return (v.neg[index] ? "-" : "") + text;
}

std::string snippet(const VectorOp& op, const Variant& v) {
  std::string text;
  for (int copy = 0; copy < kCopies; ++copy) {
    text += fmt::format("{}{} {}", op.name, v.suffix,
                        register_text('v', kResultBase + 2 * copy, width_of(op.result)));
    for (int k = 0; k < static_cast<int>(op.sources.size()); ++k)
      text += ", " + operand_text(op, v, k, copy);
    text += op.tail + v.modifiers;
    if (v.clamp) text += " clamp";
    constexpr const char* kOmod[] = {"", " mul:2", " mul:4", " div:2"};
    text += std::string(kOmod[v.omod]) + "\n";
  }
  return text;
}

// The value of one operand at one point of the walk: first the cross product of the edge cases,
// then random draws.
u64 operand_value(const VectorOp& op, int index, u64 point) {
  const auto& kinds = op.sources;
  u64 product = 1, before = 1;
  for (std::size_t k = 0; k < kinds.size(); ++k) product *= interesting(kinds[k]).size();
  const bool walks = product <= 2 * kCopies * kLanes && width_of(kinds[index]) <= 2 &&
                     kinds[index] != Kind::kPkF32 && kinds[index] != Kind::kPk16 &&
                     kinds[index] != Kind::kPkHalf;
  if (!walks || point >= product) return draw(kinds[index], point * 8 + index);
  for (int k = 0; k < index; ++k) before *= interesting(kinds[k]).size();
  const auto& values = interesting(kinds[index]);
  return values[point / before % values.size()];
}

void set64(std::vector<u32>& file, int reg, unsigned lane, u64 value, int width) {
  file[reg * kLanes + lane] = static_cast<u32>(value);
  if (width == 2) file[(reg + 1) * kLanes + lane] = static_cast<u32>(value >> 32);
}
u64 get64(const std::vector<u32>& file, int reg, unsigned lane, int width) {
  const u64 low = file[reg * kLanes + lane];
  return width == 1 ? low : low | static_cast<u64>(file[(reg + 1) * kLanes + lane]) << 32;
}

WaveState start(const VectorOp& op, const Variant& v, u64 round) {
  WaveState state;
  state.mode = v.mode;
  state.exec = v.exec;
  state.vcc = 0x0f5ac3a5f00f3c96ull;
  for (int copy = 0; copy < kCopies; ++copy) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      const u64 point = (round * kCopies + copy) * kLanes + lane + v.shift;
      for (int k = 0; k < static_cast<int>(op.sources.size()); ++k) {
        set64(state.vgpr, kSourceBase[k] + 2 * copy, lane, operand_value(op, k, point),
              width_of(op.sources[k]));
      }
      set64(state.vgpr, kResultBase + 2 * copy, lane, draw(op.result, ~point), 2);
    }
  }
  if (v.scalar >= 0) {
    const u64 value = operand_value(op, v.scalar, round * 7 + v.shift);
    state.sgpr[kScalarBase] = static_cast<u32>(value);
    state.sgpr[kScalarBase + 1] = static_cast<u32>(value >> 32);
  }
  return state;
}

u64 sign_bit(Kind kind) {
  return kind == Kind::kF64 ? u64{1} << 63 : kind == Kind::kF16 ? 0x8000u : 0x80000000u;
}

Lane lane_of(const VectorOp& op, const Variant& v, const WaveState& before, int copy,
             unsigned lane) {
  Lane x;
  x.lane = lane;
  x.mode.bits = v.mode;
  x.carry = (before.vcc >> lane) & 1;
  x.d = get64(before.vgpr, kResultBase + 2 * copy, lane, width_of(op.result));
  for (int k = 0; k < static_cast<int>(op.sources.size()); ++k) {
    const int width = width_of(op.sources[k]);
    const unsigned from = k == 0 ? (lane & ~15u) + ((lane - v.row_ror) & 15) : lane;
    x.s[k] = get64(before.vgpr, kSourceBase[k] + 2 * copy, from, width);
    if (k == 0 && v.high_word) x.s[k] >>= 16;
    if (k == v.scalar) {
      x.s[k] = before.sgpr[kScalarBase];
      if (width == 2) x.s[k] |= static_cast<u64>(before.sgpr[kScalarBase + 1]) << 32;
    }
    if (k == v.constant) x.s[k] = v.constant_bits;
    if (v.abs[k]) x.s[k] &= ~sign_bit(op.sources[k]);
    if (v.neg[k]) x.s[k] ^= sign_bit(op.sources[k]);
  }
  return x;
}

// CDNA3 ISA guide, "Output modifiers": omod is ignored when output denormals are allowed or IEEE is
// on; otherwise denormal results are flushed and -0 becomes +0. Clamp limits to [0, 1]; DX10_CLAMP
// turns a NaN into 0.
template <class T>
T modified(const Variant& v, T x, bool denormals_out, long double least_normal) {
  const Mode mode{v.mode};
  if (v.omod != 0 && !denormals_out && !mode.ieee()) {
    constexpr double kFactor[] = {1, 2, 4, 0.5};
    const long double wide = static_cast<long double>(x) * kFactor[v.omod];
    x = std::fabs(wide) < least_normal ? T{0} : static_cast<T>(wide);
  }
  if (v.clamp) {
    if (std::isnan(x)) return mode.dx10_clamp() ? T{0} : x;
    x = x > 0 ? (x < 1 ? x : T{1}) : T{0};
  }
  return x;
}

u64 with_output_modifiers(const VectorOp& op, const Variant& v, u64 bits) {
  if (!v.clamp && v.omod == 0) return bits;
  const Mode mode{v.mode};
  if (op.result == Kind::kF32) return bits_of(modified(v, as_float(bits), mode.out32(), 0x1p-126L));
  if (op.result == Kind::kF64)
    return bits_of(modified(v, as_double(bits), mode.out16_64(), 0x1p-1022L));
  if (op.result == Kind::kF16) {
    return (bits & ~0xffffull) |
           half_from(modified(v, half_value(bits & 0xffff), mode.out16_64(), 0x1p-14L));
  }
  return bits;
}

u64 expected(const VectorOp& op, const Variant& v, const Lane& x) {
  if (v.clamp && op.clamped) return op.clamped(x);
  return with_output_modifiers(op, v, op.rule(x));
}

std::string describe(const VectorOp& op, const Lane& x) {
  std::string text;
  for (std::size_t k = 0; k < op.sources.size(); ++k) text += fmt::format(" s{}={:#x}", k, x.s[k]);
  return text + fmt::format(" old={:#x} carry={}", x.d, x.carry);
}

void check_variant(const VectorOp& op, const Variant& v, int rounds) {
  const std::string text = snippet(op, v);
  Memory memory;
  int wrong = 0;
  std::string first;
  for (int round = 0; round < rounds; ++round) {
    const WaveState before = start(op, v, round);
    WaveState after = before;
    const Outcome outcome = run_snippet(text, op.target, memory, after);
    ASSERT_TRUE(outcome.ok()) << v.label << ": " << text.substr(0, text.find('\n')) << ": "
                              << outcome.trouble().text;
    for (int copy = 0; copy < kCopies; ++copy) {
      for (unsigned lane = 0; lane < kLanes; ++lane) {
        const Lane x = lane_of(op, v, before, copy, lane);
        const int width = width_of(op.result);
        const bool active = (v.exec >> lane) & 1;
        const u64 got = get64(after.vgpr, kResultBase + 2 * copy, lane, width);
        const u64 want = active ? expected(op, v, x) : x.d;
        const std::string problem =
            disagreement(got, want, op.result, active ? op.match : Match::kBits);
        if (problem.empty()) continue;
        if (++wrong == 1) {
          first = fmt::format("lane {}{}{}: {}", lane, active ? "" : " (inactive)", describe(op, x),
                              problem);
        }
      }
    }
  }
  EXPECT_EQ(wrong, 0) << v.label << " mode " << fmt::format("{:#x}: ", v.mode)
                      << text.substr(0, text.find('\n')) << ": first " << first;
}

const char* main_suffix(const VectorOp& op) {
  return op.forms & kE32 ? "_e32" : op.forms & kE64 ? "_e64" : "";
}
const char* long_suffix(const VectorOp& op) { return op.forms & kE64 ? "_e64" : ""; }

void check_operand_kinds(const VectorOp& op) {
  const bool long_form = (op.forms & (kE64 | kVop3)) != 0;
  for (int k = 0; k < static_cast<int>(op.sources.size()); ++k) {
    if (k > 0 && !long_form) break;  // VOP1 and VOP2: only src0 may be scalar
    Variant v{.label = fmt::format("src{} in an SGPR", k),
              .suffix = k == 0 ? main_suffix(op) : long_suffix(op)};
    v.scalar = k;
    v.shift = 11;
    check_variant(op, v, 3);
    Variant c{.label = fmt::format("src{} an inline constant", k), .suffix = v.suffix};
    c.constant = k;
    const Kind kind = op.sources[k];
    if (kind == Kind::kPkF32)
      continue;  // which half an inline constant fills is tested with the packed opcodes
    const bool wide = width_of(kind) == 2;
    c.constant_text = is_float(kind) ? "-4.0" : "-7";
    c.constant_bits = kind == Kind::kF64   ? 0xc010000000000000ull
                      : kind == Kind::kF32 ? 0xc0800000u
                      : kind == Kind::kF16 ? 0xc400u
                      : wide               ? static_cast<u64>(i64{-7})
                                           : 0xfffffff9u;
    check_variant(op, c, 1);
    if (k != 0 || !(op.forms & kE32) || wide || kind == Kind::kF16 || kind == Kind::kU16) continue;
    c.label = "src0 a literal";
    c.constant_text = "0x3f8ccccd";
    c.constant_bits = 0x3f8ccccd;
    check_variant(op, c, 1);
  }
}

void check_float_modifiers(const VectorOp& op) {
  if (!(op.forms & (kE64 | kVop3))) return;
  for (int k = 0; k < static_cast<int>(op.sources.size()); ++k) {
    if (!is_float(op.sources[k])) continue;
    for (int which = 1; which < 4; ++which) {
      Variant v{.label = fmt::format("src{} neg {} abs {}", k, which & 1, which >> 1),
                .suffix = long_suffix(op)};
      v.neg[k] = which & 1;
      v.abs[k] = which & 2;
      check_variant(op, v, 1);
    }
  }
  if (!is_float(op.result)) return;
  for (u32 mode : {0xf0u, 0x1f0u, 0x100u, 0x00u, 0x3f0u}) {
    Variant v{.label = "clamp", .suffix = long_suffix(op), .clamp = true, .mode = mode};
    check_variant(op, v, 1);
    for (int omod = 1; omod < 4; ++omod) {
      Variant o{.label = fmt::format("omod {}", omod),
                .suffix = long_suffix(op),
                .omod = omod,
                .mode = mode};
      check_variant(op, o, 1);
    }
  }
}

bool has_float(const VectorOp& op) {
  bool any = is_float(op.result) || op.result == Kind::kPkF32 || op.result == Kind::kPkHalf;
  for (Kind kind : op.sources) any = any || is_float(kind);
  return any;
}

// The two other encodings of VOP1 and VOP2; their controls are walked through in lane_test.cpp.
void check_dpp_and_sdwa(const VectorOp& op) {
  if (op.forms & kDpp) {
    check_variant(op,
                  {.label = "DPP",
                   .suffix = "_dpp",
                   .modifiers = " row_ror:5 row_mask:0xf bank_mask:0xf",
                   .row_ror = 5},
                  1);
  }
  if (!(op.forms & kSdwa) || has_float(op)) return;
  const char* second = op.sources.size() > 1 ? " src1_sel:DWORD" : "";
  check_variant(
      op,
      {.label = "SDWA",
       .suffix = "_sdwa",
       .modifiers = fmt::format(" dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1{}", second),
       .high_word = true},
      1);
}

}  // namespace

void check(const VectorOp& op) {
  if (!implemented(op.name)) return;
  SCOPED_TRACE(op.name);
  check_variant(op, {.label = "plain", .suffix = main_suffix(op)}, 4);
  check_variant(op,
                {.label = "half of EXEC",
                 .suffix = main_suffix(op),
                 .exec = 0x5a00ffffa5c31801ull,
                 .shift = 5},
                1);
  check_variant(op, {.label = "EXEC zero", .suffix = main_suffix(op), .exec = 0}, 1);
  if ((op.forms & kE32) && (op.forms & kE64))
    check_variant(op, {.label = "long", .suffix = "_e64", .shift = 3}, 1);
  if (has_float(op)) {
    for (u32 mode : {0xc0u, 0x30u, 0x00u, 0x90u, 0x60u, 0x2f0u}) {
      check_variant(op, {.label = "mode", .suffix = main_suffix(op), .mode = mode}, 2);
    }
  }
  if (!(op.forms & (kVop3p | kReadsVcc))) check_operand_kinds(op);
  if (!(op.forms & kVop3p)) check_float_modifiers(op);
  check_dpp_and_sdwa(op);
  if (op.clamped)
    check_variant(op, {.label = "integer clamp", .suffix = long_suffix(op), .clamp = true}, 2);
}

bool implemented(const std::string& mnemonic) {
  static const std::vector<std::string> kNames = implemented_mnemonics();
  return std::find(kNames.begin(), kNames.end(), mnemonic) != kNames.end();
}

std::string disagreement(u64 actual, u64 expected, Kind kind, Match match) {
  if (actual == expected) return "";
  const std::string text = fmt::format("got {:#x}, the rule says {:#x}", actual, expected);
  if (match == Match::kBits) return text;
  if (kind == Kind::kPkF32 || kind == Kind::kPkHalf) {
    const bool halves = kind == Kind::kPkHalf;
    const int width = halves ? 16 : 32;
    const u64 mask = (u64{1} << width) - 1;
    const Kind part = halves ? Kind::kF16 : Kind::kF32;
    const bool low = disagreement(actual & mask, expected & mask, part, match).empty();
    return low && disagreement(actual >> width, expected >> width, part, match).empty() ? "" : text;
  }
  if (kind == Kind::kPkBf16) {  // a bf16 is the upper half of an f32
    const bool low =
        disagreement(actual << 16 & 0xffffffff, expected << 16 & 0xffffffff, Kind::kF32, match)
            .empty();
    return low && disagreement(actual & 0xffff0000, expected & 0xffff0000, Kind::kF32, match)
                       .empty()
               ? ""
               : text;
  }
  if (kind == Kind::kF16) {
    if ((actual >> 16) != (expected >> 16)) return text;
    const u32 a = actual & 0xffff, e = expected & 0xffff;
    if (is_nan16(e)) return is_nan16(a) && !is_signalling16(a) ? "" : text;
    return match == Match::kUlp && !is_nan16(a) && std::abs(int(a) - int(e)) == 1 ? "" : text;
  }
  if (kind == Kind::kF64) {
    if (is_nan64(expected)) return is_nan64(actual) && !is_signalling64(actual) ? "" : text;
    return match == Match::kUlp && !is_nan64(actual) && (actual - expected + 1) <= 2 ? "" : text;
  }
  if (is_nan32(expected)) return is_nan32(actual) && !is_signalling32(actual) ? "" : text;
  return match == Match::kUlp && !is_nan32(actual) && (actual - expected + 1) <= 2 ? "" : text;
}

}  // namespace attest::emulator::opcode_tests

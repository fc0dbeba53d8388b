#include "harness/device/emulator/decode_text.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <map>

namespace attest::emulator {
namespace {

using Pieces = std::vector<std::string_view>;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Splits at `separator` outside of brackets.
Pieces split(std::string_view text, char separator) {
  Pieces pieces;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (i == text.size() || (c == separator && depth == 0)) {
      if (auto piece = trim(text.substr(start, i - start)); !piece.empty()) pieces.push_back(piece);
      start = i + 1;
    }
  }
  return pieces;
}

bool parse_integer(std::string_view text, std::int64_t* value) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const int base = text.starts_with("0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  std::uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc{} || end != text.data() + text.size()) return false;
  *value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  return true;
}

// "v7", "s[4:7]", "a[0:3]", "ttmp3"
bool parse_register(std::string_view text, Operand* op) {
  int base = 0;
  if (text.starts_with("ttmp")) {
    base = 108;
    text.remove_prefix(4);
    op->kind = Operand::Kind::kScalar;
  } else if (text.size() > 1 && (text[0] == 'v' || text[0] == 's' || text[0] == 'a')) {
    op->kind = text[0] == 's' ? Operand::Kind::kScalar : Operand::Kind::kVector;
    base = text[0] == 'a' ? kAccBase : 0;
    text.remove_prefix(1);
  } else {
    return false;
  }
  std::int64_t first = 0, last = 0;
  if (text.starts_with('[') && text.ends_with(']')) {
    const Pieces ends = split(text.substr(1, text.size() - 2), ':');
    if (ends.empty() || !parse_integer(ends[0], &first) || !parse_integer(ends.back(), &last))
      return false;
  } else {
    if (text.empty() || text[0] < '0' || text[0] > '9' || !parse_integer(text, &first))
      return false;
    last = first;
  }
  op->reg = static_cast<std::uint16_t>(base + first);
  op->count = static_cast<std::uint8_t>(last - first + 1);
  return true;
}

struct NamedRegister {
  int reg, count;
};
const std::map<std::string_view, NamedRegister>& named_registers() {
  static const std::map<std::string_view, NamedRegister> kNames = {
      {"vcc", {kVcc, 2}},
      {"vcc_lo", {kVcc, 1}},
      {"vcc_hi", {kVcc + 1, 1}},
      {"m0", {kM0, 1}},
      {"exec", {kExec, 2}},
      {"exec_lo", {kExec, 1}},
      {"exec_hi", {kExec + 1, 1}},
      {"flat_scratch", {kFlatScratch, 2}},
      {"flat_scratch_lo", {kFlatScratch, 1}},
      {"flat_scratch_hi", {kFlatScratch + 1, 1}},
      {"xnack_mask", {kXnack, 2}},
      {"src_shared_base", {kSharedBase, 2}},
      {"src_private_base", {kPrivateBase, 2}},
      {"src_vccz", {kVccz, 1}},
      {"vccz", {kVccz, 1}},
      {"src_execz", {kExecz, 1}},
      {"execz", {kExecz, 1}},
      {"src_scc", {kScc, 1}},
      {"scc", {kScc, 1}}};
  return kNames;
}

std::uint64_t float_constant(double value, Type type) {
  if (type == Type::kF64 || type == Type::kB64) return std::bit_cast<std::uint64_t>(value);
  if (type == Type::kF16) return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

// hwreg(HW_REG_MODE, offset, size) as its immediate: id | offset << 6 | (size - 1) << 11.
bool parse_hwreg(std::string_view text, Operand* op) {
  if (!text.starts_with("hwreg(") || !text.ends_with(')')) return false;
  const Pieces parts = split(text.substr(6, text.size() - 7), ',');
  std::int64_t id = -1, offset = 0, size = 32;
  if (parts.empty()) return false;
  static const std::map<std::string_view, int> kIds = {
      {"HW_REG_MODE", 1}, {"HW_REG_STATUS", 2}, {"HW_REG_HW_ID", 4}, {"HW_REG_XCC_ID", 20}};
  if (auto found = kIds.find(parts[0]); found != kIds.end())
    id = found->second;
  else if (!parse_integer(parts[0], &id))
    return false;
  if (parts.size() == 3 && (!parse_integer(parts[1], &offset) || !parse_integer(parts[2], &size)))
    return false;
  op->kind = Operand::Kind::kConstant;
  op->value = static_cast<std::uint64_t>(id | offset << 6 | (size - 1) << 11);
  return true;
}

bool parse_constant(std::string_view text, Operand* op, Type type) {
  op->kind = Operand::Kind::kConstant;
  std::int64_t integer = 0;
  if (parse_integer(text, &integer)) {
    op->value = static_cast<std::uint64_t>(integer);
    // A 32-bit literal of an f64 source is its high half. Source: CDNA3 ISA, "Literal constants".
    if (type == Type::kF64 && text.starts_with("0x")) op->value <<= 32;
    return true;
  }
  char* end = nullptr;
  const std::string copy(text);
  const double value = std::strtod(copy.c_str(), &end);
  if (end != copy.c_str() + copy.size() || copy.empty()) return false;
  op->value = float_constant(value, type);
  return true;
}

bool parse_operand(std::string_view text, Operand* op, Type type) {
  if (text.starts_with("sext(") && text.ends_with(')')) {
    op->sext = true;
    text = text.substr(5, text.size() - 6);
  }
  if (text.starts_with("neg(") && text.ends_with(')')) {
    op->neg = true;
    text = text.substr(4, text.size() - 5);
  }
  if (text.size() > 1 && text[0] == '-' &&
      (text[1] == '|' || std::string_view("vsae").find(text[1]) != text.npos)) {
    op->neg = true;
    text.remove_prefix(1);
  }
  if (text.size() > 2 && text.front() == '|' && text.back() == '|') {
    op->abs = true;
    text = text.substr(1, text.size() - 2);
  }
  if (text == "off") return true;
  if (auto named = named_registers().find(text); named != named_registers().end()) {
    op->kind = Operand::Kind::kScalar;
    op->reg = static_cast<std::uint16_t>(named->second.reg);
    op->count = static_cast<std::uint8_t>(named->second.count);
    return true;
  }
  return parse_register(text, op) || parse_hwreg(text, op) || parse_constant(text, op, type);
}

// "[1,0,1]" -> bits; for quad_perm two bits an entry.
bool parse_list(std::string_view text, int bits, std::uint32_t* value) {
  if (!text.starts_with('[') || !text.ends_with(']')) return false;
  int shift = 0;
  *value = 0;
  for (auto piece : split(text.substr(1, text.size() - 2), ',')) {
    std::int64_t entry = 0;
    if (!parse_integer(piece, &entry)) return false;
    *value |= static_cast<std::uint32_t>(entry) << shift;
    shift += bits;
  }
  return true;
}

bool parse_sel(std::string_view text, Sel* sel) {
  static const std::map<std::string_view, Sel> kNames = {
      {"BYTE_0", Sel::kByte0}, {"BYTE_1", Sel::kByte1}, {"BYTE_2", Sel::kByte2},
      {"BYTE_3", Sel::kByte3}, {"WORD_0", Sel::kWord0}, {"WORD_1", Sel::kWord1},
      {"DWORD", Sel::kDword}};
  const auto found = kNames.find(text);
  if (found == kNames.end()) return false;
  *sel = found->second;
  return true;
}

bool parse_dpp_ctrl(std::string_view key, std::string_view value, Inst* in) {
  static const std::map<std::string_view, int> kBase = {
      {"row_shl", 0x100},  {"row_shr", 0x110},  {"row_ror", 0x120},  {"row_newbcast", 0x150},
      {"wave_shl", 0x12f}, {"wave_rol", 0x133}, {"wave_shr", 0x137}, {"wave_ror", 0x13b}};
  std::int64_t number = 0;
  std::uint32_t list = 0;
  if (key == "quad_perm" && parse_list(value, 2, &list)) {
    in->dpp_ctrl = static_cast<std::uint16_t>(list);
  } else if (key == "row_mirror") {
    in->dpp_ctrl = 0x140;
  } else if (key == "row_half_mirror") {
    in->dpp_ctrl = 0x141;
  } else if (key == "row_bcast") {
    in->dpp_ctrl = value == "15" ? 0x142 : 0x143;
  } else if (kBase.contains(key) && parse_integer(value, &number)) {
    in->dpp_ctrl = static_cast<std::uint16_t>(kBase.at(key) + number);
  } else {
    return false;
  }
  return true;
}

// ds_swizzle's offset in words -> its 16 bits. Source: LLVM, "Syntax of AMDGPU Instruction
// Modifiers", swizzle.
bool parse_swizzle(std::string_view text, Inst* in) {
  if (!text.starts_with("swizzle(") || !text.ends_with(')')) return false;
  const Pieces parts = split(text.substr(8, text.size() - 9), ',');
  std::int64_t n[4] = {};
  if (parts.size() == 2 && parts[0] == "BITMASK_PERM") {
    int masks[3] = {};  // and, or, xor; the pattern's first character is bit 4
    for (int bit = 0; bit < 5; ++bit) {
      const char c = parts[1][1 + (4 - bit)];
      masks[0] |= (c == 'p' || c == 'i') << bit;
      masks[1] |= (c == '1') << bit;
      masks[2] |= (c == 'i') << bit;
    }
    in->offset = masks[0] | masks[1] << 5 | masks[2] << 10;
    return true;
  }
  for (std::size_t i = 1; i < parts.size() && i < 5; ++i) {
    if (!parse_integer(parts[i], &n[i - 1])) return false;
  }
  const int a = static_cast<int>(n[0]), b = static_cast<int>(n[1]);
  if (parts[0] == "QUAD_PERM")
    in->offset = 0x8000 | a | b << 2 | static_cast<int>(n[2]) << 4 | static_cast<int>(n[3]) << 6;
  else if (parts[0] == "SWAP")
    in->offset = 31 | a << 10;
  else if (parts[0] == "REVERSE")
    in->offset = 31 | (a - 1) << 10;
  else if (parts[0] == "BROADCAST")
    in->offset = (32 - a) | b << 5;
  else
    return false;
  return true;
}

bool parse_number_modifier(std::string_view key, std::int64_t number, Inst* in) {
  if (key == "offset" || key == "offset0")
    in->offset = static_cast<std::int32_t>(number);
  else if (key == "offset1")
    in->offset1 = static_cast<std::int32_t>(number);
  else if (key == "row_mask")
    in->row_mask = static_cast<std::uint8_t>(number);
  else if (key == "bank_mask")
    in->bank_mask = static_cast<std::uint8_t>(number);
  // "bound_ctrl:0" and ":1" both print for the bit set: a missing source lane reads as zero.
  else if (key == "bound_ctrl")
    in->bound_ctrl = true;
  else if (key == "cbsz")
    in->cbsz = static_cast<std::uint8_t>(number);
  else if (key == "abid")
    in->abid = static_cast<std::uint8_t>(number);
  else if (key == "blgp")
    in->blgp = static_cast<std::uint8_t>(number);
  else if (key == "mul")
    in->omod = number == 2 ? 1 : 2;
  else if (key == "div")
    in->omod = -1;
  else
    return false;
  return true;
}

bool parse_list_modifier(std::string_view key, std::uint32_t bits, Inst* in) {
  if (key == "op_sel")
    in->op_sel = static_cast<std::uint8_t>(bits);
  else if (key == "op_sel_hi")
    in->op_sel_hi = static_cast<std::uint8_t>(bits);
  else if (key == "neg_lo")
    in->neg_lo = static_cast<std::uint8_t>(bits);
  else if (key == "neg_hi")
    in->neg_hi = static_cast<std::uint8_t>(bits);
  else if (key == "neg")
    in->neg_lo = static_cast<std::uint8_t>(bits);
  else
    return false;
  return true;
}

bool parse_modifier(std::string_view text, Inst* in) {
  if (text == "clamp") return in->clamp = true;
  if (text == "glc" || text == "sc0") return in->glc = true;
  if (text == "offen") return in->offen = true;
  if (text == "idxen") return in->idxen = true;
  // Cache policy: the emulator has one coherent memory.
  if (text == "slc" || text == "sc1" || text == "nt" || text == "scc" || text == "gds")
    return text != "gds";
  const std::size_t colon = text.find(':');
  const std::string_view key = text.substr(0, colon);
  const std::string_view value = colon == text.npos ? std::string_view{} : text.substr(colon + 1);
  if (key == "dst_sel") return parse_sel(value, &in->dst_sel);
  if (key == "src0_sel") return parse_sel(value, &in->src0_sel);
  if (key == "src1_sel") return parse_sel(value, &in->src1_sel);
  if (key == "dst_unused") {
    in->dst_unused = value == "UNUSED_SEXT"       ? Unused::kSext
                     : value == "UNUSED_PRESERVE" ? Unused::kPreserve
                                                  : Unused::kPad;
    return true;
  }
  if (parse_dpp_ctrl(key, value, in) || (key == "offset" && parse_swizzle(value, in))) return true;
  std::uint32_t bits = 0;
  if (parse_list(value, 1, &bits)) return parse_list_modifier(key, bits, in);
  std::int64_t number = 0;
  return parse_integer(value, &number) && parse_number_modifier(key, number, in);
}

// s_waitcnt, s_sendmsg and swizzle(...) have operands of their own; the emulator needs none of them
// but the last.
bool has_free_operands(std::string_view mnemonic) {
  return mnemonic == "s_waitcnt" || mnemonic == "s_sendmsg" || mnemonic == "s_nop" ||
         mnemonic == "s_setprio" || mnemonic.starts_with("s_dcache") ||
         mnemonic.starts_with("buffer_wb") || mnemonic.starts_with("buffer_inv");
}

Type operand_type(std::string_view mnemonic) {
  // A conversion's source type comes last; the sources of v_fma_mix* are f32 unless op_sel_hi says
  // otherwise.
  if (mnemonic.starts_with("v_cvt_") && !mnemonic.ends_with("_f16") && !mnemonic.ends_with("_f64"))
    return Type::kB32;
  if (mnemonic.starts_with("v_fma_mix")) return Type::kB32;
  for (const char* suffix : {"_f64", "_f64_e32", "_f64_e64"}) {
    if (mnemonic.ends_with(suffix)) return Type::kF64;
  }
  if (mnemonic.find("_f16") != mnemonic.npos && !mnemonic.starts_with("v_cvt_f16_f32"))
    return Type::kF16;
  if (mnemonic.find("_f64") != mnemonic.npos) return Type::kF64;
  if (mnemonic.find("_b64") != mnemonic.npos || mnemonic.find("_u64") != mnemonic.npos)
    return Type::kB64;
  return Type::kB32;
}

}  // namespace

std::string base_mnemonic(std::string_view mnemonic) {
  for (std::string_view suffix : {"_e32", "_e64", "_sdwa", "_dpp"}) {
    if (mnemonic.ends_with(suffix)) mnemonic.remove_suffix(suffix.size());
  }
  return std::string(mnemonic);
}

ParsedText parse_text(std::string_view line) {
  ParsedText parsed;
  line = trim(line);
  const std::size_t space = line.find_first_of(" \t");
  parsed.mnemonic = std::string(line.substr(0, space));
  Inst& in = parsed.inst;
  in.sdwa = parsed.mnemonic.ends_with("_sdwa");
  in.dpp = parsed.mnemonic.ends_with("_dpp");
  // Not printed when it has its default value, which is all ones but for the mixed-precision fma.
  if (parsed.mnemonic.starts_with("v_fma_mix")) in.op_sel_hi = 0;
  if (space == line.npos || has_free_operands(parsed.mnemonic)) return parsed;
  Pieces pieces = split(line.substr(space), ',');
  if (pieces.empty()) return parsed;
  Pieces tail = split(pieces.back(), ' ');
  if (tail.size() > 1) pieces.back() = tail.front();
  const Type type = operand_type(base_mnemonic(parsed.mnemonic));
  for (auto piece : pieces) {
    if (in.operands == in.op.size() || !parse_operand(piece, &in.op[in.operands], type)) {
      parsed.unknown = std::string(piece);
      return parsed;
    }
    ++in.operands;
  }
  for (std::size_t i = 1; i < tail.size(); ++i) {
    // "... s5 offen offset:16": words after the last operand are modifiers.
    if (!parse_modifier(tail[i], &in)) parsed.unknown = std::string(tail[i]);
  }
  return parsed;
}

}  // namespace attest::emulator

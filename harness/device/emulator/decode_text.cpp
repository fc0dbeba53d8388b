#include "harness/device/emulator/decode_text.hpp"

#include <algorithm>
#include <map>

#include "harness/device/emulator/decode_operand.hpp"

namespace attest::emulator {
namespace {

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
  if (text == "lds") return in->lds = true;
  if (text == "sc1" || text == "scc") return in->sc1 = true;
  if (text == "nt" || text == "slc") return in->nt = true;
  if (text == "gds") return false;
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
         mnemonic == "s_setprio" || mnemonic.starts_with("s_dcache");
}

// Cache controls have scopes alone: "buffer_wbl2 sc0 sc1".
bool has_modifiers_only(std::string_view mnemonic) {
  return mnemonic.starts_with("buffer_wb") || mnemonic.starts_with("buffer_inv");
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
  if (has_modifiers_only(parsed.mnemonic)) {
    for (const auto piece : split(line.substr(space), ' ')) {
      if (!parse_modifier(piece, &in)) parsed.unknown = std::string(piece);
    }
    return parsed;
  }
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
  if (parsed.mnemonic.find("_load_lds_") != std::string::npos) in.lds = true;
  // The other operands stand where they do when a register is the destination.
  if (in.lds) std::rotate(in.op.rbegin(), in.op.rbegin() + 1, in.op.rend());
  return parsed;
}

}  // namespace attest::emulator

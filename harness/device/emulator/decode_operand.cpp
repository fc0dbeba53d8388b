#include "harness/device/emulator/decode_operand.hpp"

#include <bit>
#include <charconv>
#include <cstdlib>
#include <map>

namespace attest::emulator {

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

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

namespace {

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

// gpr_idx(SRC0,DST) as its four bits.
bool parse_gpr_idx(std::string_view text, Operand* op) {
  if (!text.starts_with("gpr_idx(") || !text.ends_with(')')) return false;
  static const std::map<std::string_view, std::uint64_t> kBits = {
      {"SRC0", 1}, {"SRC1", 2}, {"SRC2", 4}, {"DST", 8}};
  op->kind = Operand::Kind::kConstant;
  for (auto part : split(text.substr(8, text.size() - 9), ',')) {
    const auto found = kBits.find(part);
    if (found == kBits.end()) return false;
    op->value |= found->second;
  }
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

}  // namespace

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
  return parse_register(text, op) || parse_hwreg(text, op) || parse_gpr_idx(text, op) ||
         parse_constant(text, op, type);
}

}  // namespace attest::emulator

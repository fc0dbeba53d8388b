// How what nobody wrote spreads through an instruction.

#include <algorithm>
#include <map>

#include "harness/device/emulator/checks/undefined_registers.hpp"
#include "harness/device/emulator/decode_text.hpp"
#include "harness/device/emulator/swizzle.hpp"

namespace attest::emulator {
namespace {

constexpr u64 kAllBits = 0xffffffff;  // of a scalar register

bool is_scalar(int row) { return row >= kScalarRow; }

const Span* source_at(const Uses& uses, int slot) {
  for (const Span& span : uses.sources()) {
    if (span.slot == slot && span.role != Role::kOld) return &span;
  }
  return nullptr;
}

// x ^ x and x - x.
bool cancels(std::string_view mnemonic, const Uses& uses) {
  for (std::string_view stem : {"v_xor_b32", "s_xor_b32", "s_xor_b64", "v_sub_u32", "s_sub_i32"}) {
    if (mnemonic != stem) continue;
    const Span *a = source_at(uses, 1), *b = source_at(uses, 2);
    return a && b && a->row == b->row;
  }
  return false;
}

// The undefined bits of a scalar source and its value.
struct Bits {
  u64 undefined = 0, value = 0;
};
// A result bit is known when the known bits of the sources decide it.
Bits conjunction(Bits a, Bits b) {
  return {(a.undefined & (b.undefined | b.value)) | (b.undefined & (a.undefined | a.value)),
          a.value & b.value};
}
Bits negation(Bits a) { return {a.undefined, ~a.value}; }
Bits combine(Spread how, Bits a, Bits b) {
  switch (how) {
    case Spread::kAnd:
      return conjunction(a, b);
    case Spread::kAndNot:
      return conjunction(a, negation(b));
    case Spread::kOr:
      return negation(conjunction(negation(a), negation(b)));
    case Spread::kOrNot:
      return negation(conjunction(negation(a), b));
    default:
      return {a.undefined | b.undefined, a.value ^ b.value};
  }
}

// Lanes as DPP hands them out, and those that it writes.
struct DppLanes {
  u64 undefined = 0, written = 0;
};
DppLanes through_dpp(const Inst& in, u64 undefined, u64 exec) {
  DppLanes out;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(in.row_mask >> (lane >> 4) & 1) || !(in.bank_mask >> (lane >> 2 & 3) & 1)) continue;
    const int from = dpp_source(in.dpp_ctrl, lane);
    const bool valid = from >= 0 && exec >> from & 1;
    if (valid || in.bound_ctrl) out.written |= u64{1} << lane;
    if (valid) out.undefined |= (undefined >> from & 1) << lane;
  }
  return out;
}

// Of one instruction: sources are asked, results are gathered and set at the end, because a
// destination may be a source.
class Spreading {
 public:
  Spreading(UndefinedRegisters& all, const Wave& w, const Inst& in, const Uses& uses)
      : all_(all), w_(w), in_(in), uses_(uses), exec_(w.exec()) {}

  void run(Spread how) {
    switch (how) {
      case Spread::kDefined:
        return write_all(0);
      case Spread::kMove:
        return move();
      case Spread::kSelect:
        return select();
      case Spread::kSelectLanes:
        return select_lanes();
      case Spread::kPacked:
        return packed();
      case Spread::kReadLane:
      case Spread::kReadFirstLane:
        return read_lane(how == Spread::kReadFirstLane);
      case Spread::kWriteLane:
        return write_lane();
      case Spread::kSwap:
        return swap();
      case Spread::kMatrix:
        return matrix();
      case Spread::kSwizzle:
        return swizzle();
      case Spread::kPermute:
      case Spread::kBackPermute:
        return permute(how == Spread::kPermute);
      case Spread::kLanes:
        return uses_.unit == Unit::kScalar ? scalar() : lanes();
      default:
        return bitwise(how);
    }
  }

 private:
  u64 at(int row) {
    const u64 lanes = all_.lanes(row);
    if (lanes && !has_origin_) origin_ = all_.origin(row), has_origin_ = true;
    return lanes;
  }
  u64 pair(int row) { return at(row) | at(row + 1) << 32; }
  // As lanes: a scalar source is of all of them.
  u64 row_lanes(int row) {
    const u64 bits = at(row);
    return is_scalar(row) ? (bits ? kAllLanes : 0) : bits;
  }
  u64 slot_lanes(int slot) {
    const Span* span = source_at(uses_, slot);
    u64 lanes = 0;
    for (int r = 0; span && r < span->count; ++r) lanes |= row_lanes(span->row + r);
    return lanes;
  }
  void write_vector(int row, u64 undefined, u64 written) {
    all_.set(row, (all_.lanes(row) & ~written) | (undefined & written), origin_);
  }
  void write_mask(int row, u64 lanes) {
    all_.set(row, lanes & kAllBits, origin_);
    all_.set(row + 1, lanes >> 32, origin_);
  }
  // A pair of scalar registers that a vector instruction writes holds a bit a lane, 0 for inactive
  // ones.
  void write_all(u64 undefined, u64 written) {
    for (const Span& span : uses_.destinations()) {
      if (!is_scalar(span.row)) {
        for (int r = 0; r < span.count; ++r) write_vector(span.row + r, undefined, written);
      } else if (span.count == 2 && uses_.unit == Unit::kVector) {
        write_mask(span.row, undefined & exec_);
      } else {
        for (int r = 0; r < span.count; ++r)
          all_.set(span.row + r, undefined ? (span.row == kSccRow ? 1 : kAllBits) : 0, origin_);
      }
    }
  }
  void write_all(u64 undefined) { write_all(undefined, exec_); }

  bool is_mask(const Span& span) const {
    return is_scalar(span.row) && span.count == 2 && uses_.unit == Unit::kVector &&
           (span.slot < 0 || (in_.type != Type::kB64 && in_.type != Type::kF64));
  }
  void lanes() {
    u64 undefined = 0, written = exec_;
    for (const Span& span : uses_.sources()) {
      if (span.role == Role::kMask || span.role == Role::kOld) continue;
      u64 of_span = 0;
      if (is_mask(span)) {
        of_span = pair(span.row);
      } else {
        for (int r = 0; r < span.count; ++r) of_span |= row_lanes(span.row + r);
      }
      if (in_.dpp && span.slot == in_.first_source) {
        const DppLanes moved = through_dpp(in_, of_span, exec_);
        of_span = moved.undefined;
        written = exec_ & moved.written;
      }
      undefined |= of_span;
    }
    write_all(undefined, written);
  }
  void scalar() {
    u64 any = 0;
    for (const Span& span : uses_.sources()) {
      for (int r = 0; r < span.count && span.role != Role::kOld; ++r) any |= at(span.row + r);
    }
    write_all(any);
  }

  Bits bits(int slot) {
    const Operand& op = in_.op[slot];
    const Span* span = source_at(uses_, slot);
    const bool wide = op.kind == Operand::Kind::kConstant || op.count == 2;
    Bits out{0, wide ? scalar64(w_, op) : scalar32(w_, op)};
    if (span) out.undefined = span->count == 2 ? pair(span->row) : at(span->row);
    return out;
  }
  void write_scalar(const Span& span, Bits result) {
    if (span.row == kSccRow) {
      // It says whether the result is not zero, for which one known bit is enough.
      const bool known = result.undefined == 0 || (result.value & ~result.undefined) != 0;
      all_.set(kSccRow, !known, origin_);
    } else if (span.count == 2) {
      write_mask(span.row, result.undefined);
    } else {
      all_.set(span.row, result.undefined & kAllBits, origin_);
    }
  }
  void bitwise(Spread how) {
    const bool saves = how != Spread::kNot && in_.op[2].kind == Operand::Kind::kNone;
    const Bits exec{0, exec_};
    Bits result = combine(how, bits(1), how == Spread::kNot ? Bits{} : saves ? exec : bits(2));
    const std::string& text = w_.program->text[in_.index];
    for (std::string_view inverted : {"s_nand", "s_nor", "s_xnor", "s_not"}) {
      if (text.starts_with(inverted)) result = negation(result);
    }
    for (const Span& span : uses_.destinations()) {
      const bool old_exec = span.slot == 0 && text.find("_saveexec_") != text.npos;
      write_scalar(span, old_exec ? exec : result);
    }
  }
  void move() {
    const Span* from = source_at(uses_, 1);
    for (const Span& span : uses_.destinations()) {
      for (int r = 0; r < span.count; ++r) {
        const int row = from ? from->row + (r < from->count ? r : 0) : -1;
        if (is_scalar(span.row)) {
          all_.set(span.row + r, row < 0 ? 0 : at(row), origin_);
        } else {
          write_vector(span.row + r, row < 0 ? 0 : row_lanes(row), exec_);
        }
      }
    }
  }
  void select() {
    if (at(kSccRow)) return write_all(1);
    const Bits chosen = bits(w_.scc ? 1 : 2);
    for (const Span& span : uses_.destinations()) write_scalar(span, chosen);
  }
  void select_lanes() {
    if (in_.dpp) return lanes();
    const bool implied = in_.operands < 4;
    const u64 mask = implied ? w_.s64(kVcc) : scalar64(w_, in_.op[3]);
    const Span* of_mask = source_at(uses_, 3);
    const u64 unknown = implied ? pair(kVccRow) : of_mask ? pair(of_mask->row) : 0;
    write_all(unknown | (mask & slot_lanes(2)) | (~mask & slot_lanes(1)));
  }
  void packed() {
    u64 halves[2] = {};
    const bool moves = w_.program->text[in_.index].starts_with("v_pk_mov");
    for (int high = 0; high < 2; ++high) {
      for (int slot = 1; slot < 4; ++slot) {
        const Operand& op = in_.op[slot];
        const bool is_register =
            op.kind == Operand::Kind::kVector || op.kind == Operand::Kind::kScalar;
        if (!is_register || op.reg >= kScalarRow || (moves && slot != 1 + high)) continue;
        const int select = moves || high == 0 ? in_.op_sel : in_.op_sel_hi;
        const int upper = op.count > 1 ? select >> (slot - 1) & 1 : 0;
        if (op.kind == Operand::Kind::kScalar && op.reg >= 128) continue;
        halves[high] |=
            row_lanes((op.kind == Operand::Kind::kScalar ? kScalarRow : 0) + op.reg + upper);
      }
    }
    for (int high = 0; high < 2; ++high) write_vector(in_.op[0].reg + high, halves[high], exec_);
  }
  void read_lane(bool first) {
    const Span* from = source_at(uses_, 1);
    const u64 select = source_at(uses_, 2) ? slot_lanes(2) : 0;
    const int lane = first ? (exec_ ? std::countr_zero(exec_) : 0)
                           : static_cast<int>(scalar32(w_, in_.op[2]) & 63);
    write_all(select || (from && at(from->row) >> lane & 1));
  }
  void write_lane() {
    const u64 undefined = slot_lanes(1) | slot_lanes(2);
    write_all(undefined, u64{1} << (scalar32(w_, in_.op[2]) & 63));
  }
  void swap() {
    const u64 a = at(in_.op[0].reg), b = at(in_.op[1].reg);
    write_vector(in_.op[0].reg, b, exec_);
    write_vector(in_.op[1].reg, a, exec_);
  }

  // D depends on C's element, A's row and B's column, whose lanes ops_matrix.cpp names. Of those
  // with several blocks and of f64, all of D depends on all of A and B.
  void matrix() {
    const std::string& text = w_.program->text[in_.index];
    const int n = text.find("_32x32x") != std::string::npos ? 32 : 16;
    const bool one_block =
        in_.op[0].count == (n == 32 ? 16 : 4) && text.find("_4x4x") == std::string::npos;
    u64 a = slot_lanes(1), b = slot_lanes(2);
    if (!one_block) b = a | b ? kAllLanes : 0;
    for (int fold = 32; fold >= n; fold /= 2) {
      a |= a >> fold | a << fold;
      b |= b >> fold | b << fold;
    }
    const Span* c = source_at(uses_, 3);
    u64 out[32];
    for (int r = 0; r < in_.op[0].count; ++r) {
      u64 rows = 0;
      for (int part = 0; part < 64 / n; ++part) {
        const int i = n == 16 ? 4 * part + r % 4 : 8 * (r % 16 / 4) + 4 * part + r % 4;
        if (a >> i & 1) rows |= (n == 16 ? u64{0xffff} : kAllBits) << n * part;
      }
      out[r] = rows | b | (c && r < c->count ? row_lanes(c->row + r) : 0);
    }
    for (int r = 0; r < in_.op[0].count; ++r) write_vector(in_.op[0].reg + r, out[r], kAllLanes);
  }
  void swizzle() {
    const u64 data = slot_lanes(1) & exec_;  // an inactive lane gives 0
    u64 out = 0;
    for (int lane = 0; lane < kLanes; ++lane)
      out |= (data >> swizzle_source(static_cast<u32>(in_.offset), lane) & 1) << lane;
    write_all(out);
  }
  void permute(bool push) {
    const u64 data = slot_lanes(2), address = slot_lanes(1);
    u64 out = push ? 0 : address;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int other =
          static_cast<int>((w_.v[in_.op[1].reg][lane] + static_cast<u32>(in_.offset)) >> 2 & 63);
      const int from = push ? lane : other, to = push ? other : lane;
      if (exec_ >> from & 1) out |= (data >> from & 1) << to;
    }
    write_all(out);
  }

  UndefinedRegisters& all_;
  const Wave& w_;
  const Inst& in_;
  const Uses& uses_;
  u64 exec_;
  u32 origin_ = 0;
  bool has_origin_ = false;
};

}  // namespace

Spread spread_of(std::string_view text, const Uses& uses) {
  const std::string mnemonic = base_mnemonic(text.substr(0, text.find_first_of(" \t")));
  if (cancels(mnemonic, uses)) return Spread::kDefined;
  if (uses.unit == Unit::kMatrix) return Spread::kMatrix;
  static const std::map<std::string_view, Spread> kNames = {
      {"s_cselect_b32", Spread::kSelect},
      {"s_cselect_b64", Spread::kSelect},
      {"v_cndmask_b32", Spread::kSelectLanes},
      {"v_pk_fma_f32", Spread::kPacked},
      {"v_pk_mul_f32", Spread::kPacked},
      {"v_pk_add_f32", Spread::kPacked},
      {"v_pk_mov_b32", Spread::kPacked},
      {"v_readlane_b32", Spread::kReadLane},
      {"v_writelane_b32", Spread::kWriteLane},
      {"v_readfirstlane_b32", Spread::kReadFirstLane},
      {"v_swap_b32", Spread::kSwap},
      {"ds_permute_b32", Spread::kPermute},
      {"ds_bpermute_b32", Spread::kBackPermute},
      {"s_mov_b32", Spread::kMove},
      {"s_mov_b64", Spread::kMove},
      {"v_mov_b64", Spread::kMove},
      {"ds_swizzle_b32", Spread::kSwizzle}};
  if (const auto found = kNames.find(mnemonic); found != kNames.end()) return found->second;
  if (uses.unit != Unit::kScalar) return Spread::kLanes;
  // s_and_b64, s_and_saveexec_b64, s_andn2_b32, ... "andn1" is rare and goes by all bits.
  const std::string_view word = std::string_view(mnemonic).substr(2, mnemonic.find('_', 2) - 2);
  if (word == "and" || word == "nand") return Spread::kAnd;
  if (word == "or" || word == "nor") return Spread::kOr;
  if (word == "andn2") return Spread::kAndNot;
  if (word == "orn2") return Spread::kOrNot;
  if (word == "not") return Spread::kNot;
  return word == "xor" || word == "xnor" ? Spread::kXor : Spread::kLanes;
}

void UndefinedRegisters::spread(const Wave& w, const Inst& in, const Uses& uses, Spread how) {
  Spreading(*this, w, in, uses).run(how);
}

}  // namespace attest::emulator

// SOP1, SOP2, SOPC, SOPK, SOPP and SMEM. Source: AMD Instinct MI300 ISA, chapters 5, 6.2, 8 and 12.
#include <fmt/format.h>

#include <bit>

#include "harness/device/emulator/wave.hpp"

namespace attest::emulator {
namespace {

u32 s0(const Wave& w, const Inst& in) { return scalar32(w, in.op[1]); }
u32 s1(const Wave& w, const Inst& in) { return scalar32(w, in.op[2]); }

// A result and the new SCC; ops that leave SCC alone return kKeep.
struct Out32 {
  u32 value;
  int scc;
};
struct Out64 {
  u64 value;
  int scc;
};
constexpr int kKeep = -1;

template <auto Fn>
Flow binary32(Wave& w, const Inst& in) {
  const Out32 out = Fn(s0(w, in), s1(w, in), w.scc);
  set_scalar32(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow binary64(Wave& w, const Inst& in) {
  const Out64 out = Fn(scalar64(w, in.op[1]), scalar64(w, in.op[2]));
  set_scalar64(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
// 64-bit shifts and field ops take a 32-bit second source.
template <auto Fn>
Flow binary64_32(Wave& w, const Inst& in) {
  const Out64 out = Fn(scalar64(w, in.op[1]), s1(w, in));
  set_scalar64(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow make64(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], Fn(s0(w, in), s1(w, in)));
  return Flow::kNext;
}
template <auto Fn>
Flow unary32(Wave& w, const Inst& in) {
  const Out32 out = Fn(s0(w, in));
  set_scalar32(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow unary64(Wave& w, const Inst& in) {
  const Out64 out = Fn(scalar64(w, in.op[1]));
  set_scalar64(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow narrow(Wave& w, const Inst& in) {  // 64-bit source, 32-bit result
  const Out32 out = Fn(scalar64(w, in.op[1]));
  set_scalar32(w, in.op[0], out.value);
  if (out.scc != kKeep) w.scc = out.scc;
  return Flow::kNext;
}
template <auto Fn>
Flow compare32(Wave& w, const Inst& in) {
  w.scc = Fn(scalar32(w, in.op[0]), scalar32(w, in.op[1]));
  return Flow::kNext;
}
template <auto Fn>
Flow compare64(Wave& w, const Inst& in) {
  w.scc = Fn(scalar64(w, in.op[0]), scalar64(w, in.op[1]));
  return Flow::kNext;
}
// SOPK: the 16-bit immediate, sign- or zero-extended.
i32 simm(const Inst& in, int slot) { return static_cast<std::int16_t>(in.op[slot].value); }
template <auto Fn>
Flow compare_k(Wave& w, const Inst& in) {
  w.scc = Fn(scalar32(w, in.op[0]), in.op[1].value);
  return Flow::kNext;
}
// D = Fn(old exec, source); the old EXEC goes to the destination.
template <auto Fn>
Flow saveexec(Wave& w, const Inst& in) {
  const u64 source = scalar64(w, in.op[1]), old = w.exec();
  set_scalar64(w, in.op[0], old);
  w.set_s64(kExec, Fn(source, old));
  w.scc = w.exec() != 0;
  return Flow::kNext;
}

constexpr Out32 logic(u32 value) { return {value, value != 0}; }
constexpr Out64 logic(u64 value) { return {value, value != 0}; }
constexpr u32 low_bits(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }
constexpr u64 low_bits64(u32 count) { return count >= 64 ? ~u64{0} : (u64{1} << count) - 1; }
constexpr Out32 bfe_u32(u32 a, u32 b, bool) { return logic(a >> (b & 31) & low_bits(b >> 16 & 127)); }
constexpr Out32 bfe_i32(u32 a, u32 b, bool) {
  const u32 width = b >> 16 & 127;
  const u32 field = a >> (b & 31) & low_bits(width);
  if (width == 0 || width >= 32) return logic(width ? static_cast<u32>(static_cast<i32>(a) >> (b & 31)) : 0u);
  return logic(static_cast<u32>(static_cast<i32>(field << (32 - width)) >> (32 - width)));
}
constexpr Out64 bfe_u64(u64 a, u32 b) { return logic(a >> (b & 63) & low_bits64(b >> 16 & 127)); }
constexpr Out64 bfe_i64(u64 a, u32 b) {
  const u32 width = b >> 16 & 127;
  const u64 field = a >> (b & 63) & low_bits64(width);
  if (width == 0 || width >= 64) return logic(width ? static_cast<u64>(static_cast<i64>(a) >> (b & 63)) : u64{0});
  return logic(static_cast<u64>(static_cast<i64>(field << (64 - width)) >> (64 - width)));
}
constexpr u32 reverse32(u32 a) {
  u32 r = 0;
  for (int i = 0; i < 32; ++i) r |= (a >> i & 1) << (31 - i);
  return r;
}
constexpr i32 to_signed(u32 value) { return static_cast<i32>(value); }
constexpr bool add_overflows(u32 a, u32 b) { return (~(a ^ b) & (a ^ (a + b))) >> 31; }
constexpr bool sub_overflows(u32 a, u32 b) { return ((a ^ b) & (a ^ (a - b))) >> 31; }

Flow next(Wave&, const Inst&) { return Flow::kNext; }
Flow end(Wave&, const Inst&) { return Flow::kEnd; }
Flow barrier(Wave&, const Inst&) { return Flow::kBarrier; }
Flow sleep(Wave&, const Inst&) { return Flow::kYield; }
Flow trap(Wave& w, const Inst& in) { return fault(w, in, "the kernel trapped (s_trap)"); }

Flow jump_to(Wave& w, const Inst& in, u64 pc) {
  const std::int32_t index = w.program->index_of(pc);
  if (index < 0) return fault(w, in, fmt::format("jump to {:#x}, outside the kernel's code", pc));
  w.pc = static_cast<u32>(index);
  return Flow::kNext;
}
template <auto Taken>
Flow branch(Wave& w, const Inst& in) {
  if (!Taken(w)) return Flow::kNext;
  return jump_to(w, in, in.next_pc + i64{simm(in, 0)} * 4);
}
// Program counters that a kernel sees are image offsets with this base, so that code addresses are addresses.
u64 pc_base(const Wave& w) {
  return w.program->object ? reinterpret_cast<u64>(w.program->object->image().data()) : 0;
}
Flow getpc(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], pc_base(w) + in.next_pc);
  return Flow::kNext;
}
Flow setpc(Wave& w, const Inst& in) { return jump_to(w, in, scalar64(w, in.op[0]) - pc_base(w)); }
Flow swappc(Wave& w, const Inst& in) {
  const u64 target = scalar64(w, in.op[1]) - pc_base(w);
  set_scalar64(w, in.op[0], pc_base(w) + in.next_pc);
  return jump_to(w, in, target);
}

Flow movk(Wave& w, const Inst& in) {
  set_scalar32(w, in.op[0], static_cast<u32>(simm(in, 1)));
  return Flow::kNext;
}
Flow cmovk(Wave& w, const Inst& in) { return w.scc ? movk(w, in) : Flow::kNext; }
Flow addk(Wave& w, const Inst& in) {
  const u32 a = scalar32(w, in.op[0]), b = static_cast<u32>(simm(in, 1));
  w.scc = add_overflows(a, b);
  set_scalar32(w, in.op[0], a + b);
  return Flow::kNext;
}
Flow mulk(Wave& w, const Inst& in) {
  set_scalar32(w, in.op[0], scalar32(w, in.op[0]) * static_cast<u32>(simm(in, 1)));
  return Flow::kNext;
}
Flow cmov32(Wave& w, const Inst& in) {
  if (w.scc) set_scalar32(w, in.op[0], s0(w, in));
  return Flow::kNext;
}
Flow cmov64(Wave& w, const Inst& in) {
  if (w.scc) set_scalar64(w, in.op[0], scalar64(w, in.op[1]));
  return Flow::kNext;
}
template <bool kSet>
Flow bitset32(Wave& w, const Inst& in) {
  const u32 bit = 1u << (s0(w, in) & 31), old = scalar32(w, in.op[0]);
  set_scalar32(w, in.op[0], kSet ? old | bit : old & ~bit);
  return Flow::kNext;
}

// hwreg immediate: id [5:0], offset [10:6], size - 1 [15:11]. MODE is the register that changes results.
Flow getreg(Wave& w, const Inst& in) {
  const u32 spec = static_cast<u32>(in.op[1].value), id = spec & 63;
  const u32 value = id == 1 ? w.mode : 0;
  set_scalar32(w, in.op[0], value >> (spec >> 6 & 31) & low_bits((spec >> 11 & 31) + 1));
  return Flow::kNext;
}
Flow setreg(Wave& w, const Inst& in) {
  const u32 spec = static_cast<u32>(in.op[0].value), id = spec & 63;
  if (id != 1) return fault(w, in, fmt::format("s_setreg of hardware register {}: the emulator has only MODE", id));
  const u32 shift = spec >> 6 & 31, mask = low_bits((spec >> 11 & 31) + 1) << shift;
  w.mode = (w.mode & ~mask) | (scalar32(w, in.op[1]) << shift & mask);
  set_host_control(host_control_f32(w.mode));
  return Flow::kNext;
}
Flow memtime(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], 0);  // no clock: a run must not depend on time
  return Flow::kNext;
}

// s_load: base + offset, low two bits ignored. Source: CDNA3 ISA, "Scalar memory reads".
template <int kDwords>
Flow load(Wave& w, const Inst& in) {
  const u64 offset = in.op[2].kind == Operand::Kind::kScalar ? scalar32(w, in.op[2]) : static_cast<u64>(static_cast<i64>(in.op[2].value));
  const u64 address = (scalar64(w, in.op[1]) + offset + static_cast<i64>(in.offset)) & ~u64{3};
  AddressRange& seen = (*w.group->cache)[in.index];
  if (address < seen.begin || address + 4 * kDwords > seen.end) {
    const Allocation* found = w.group->memory->find(address);
    if (!found || address + 4 * kDwords > found->end) {
      return fault(w, in, fmt::format("scalar read of {} bytes at {:#x} is outside every buffer: {}", 4 * kDwords,
                                      address, w.group->memory->nearest(address)));
    }
    seen = {found->begin, found->end};
  }
  std::memcpy(&w.s[in.op[0].reg], reinterpret_cast<const void*>(address), 4 * kDwords);
  return Flow::kNext;
}
// s_buffer_load: the resource's base (48 bits) and num_records bound the read; outside reads give zero.
template <int kDwords>
Flow buffer_load(Wave& w, const Inst& in) {
  const u64 base = w.s64(in.op[1].reg) & 0xffffffffffff;
  const u32 records = w.s[in.op[1].reg + 2];
  const u64 offset = ((in.op[2].kind == Operand::Kind::kScalar ? scalar32(w, in.op[2]) : static_cast<u32>(in.op[2].value)) + static_cast<u32>(in.offset)) & ~3u;
  for (int i = 0; i < kDwords; ++i) {
    const u64 at = offset + 4 * static_cast<u64>(i);
    u32 value = 0;
    if (at + 4 <= records) {
      const Allocation* found = w.group->memory->find(base + at);
      if (!found || base + at + 4 > found->end) {
        return fault(w, in, fmt::format("scalar buffer read at {:#x} is outside every buffer: {}", base + at,
                                        w.group->memory->nearest(base + at)));
      }
      std::memcpy(&value, reinterpret_cast<const void*>(base + at), 4);
    }
    w.s[in.op[0].reg + i] = value;
  }
  return Flow::kNext;
}

}  // namespace

namespace {
std::vector<Semantics> arithmetic() {
  return {
      {"s_add_u32", binary32<[](u32 a, u32 b, bool) { return Out32{a + b, a + b < a}; }>},
      {"s_sub_u32", binary32<[](u32 a, u32 b, bool) { return Out32{a - b, b > a}; }>},
      {"s_add_i32", binary32<[](u32 a, u32 b, bool) { return Out32{a + b, add_overflows(a, b)}; }>},
      {"s_sub_i32", binary32<[](u32 a, u32 b, bool) { return Out32{a - b, sub_overflows(a, b)}; }>},
      {"s_addc_u32", binary32<[](u32 a, u32 b, bool c) { return Out32{a + b + c, (u64{a} + b + c) >> 32 != 0}; }>},
      {"s_subb_u32", binary32<[](u32 a, u32 b, bool c) { return Out32{a - b - c, u64{b} + c > a}; }>},
      {"s_min_i32", binary32<[](u32 a, u32 b, bool) { return to_signed(a) < to_signed(b) ? Out32{a, 1} : Out32{b, 0}; }>},
      {"s_min_u32", binary32<[](u32 a, u32 b, bool) { return a < b ? Out32{a, 1} : Out32{b, 0}; }>},
      {"s_max_i32", binary32<[](u32 a, u32 b, bool) { return to_signed(a) > to_signed(b) ? Out32{a, 1} : Out32{b, 0}; }>},
      {"s_max_u32", binary32<[](u32 a, u32 b, bool) { return a > b ? Out32{a, 1} : Out32{b, 0}; }>},
      {"s_cselect_b32", binary32<[](u32 a, u32 b, bool c) { return Out32{c ? a : b, kKeep}; }>},
      {"s_mul_i32", binary32<[](u32 a, u32 b, bool) { return Out32{a * b, kKeep}; }>},
      {"s_mul_hi_u32", binary32<[](u32 a, u32 b, bool) { return Out32{static_cast<u32>(u64{a} * b >> 32), kKeep}; }>},
      {"s_mul_hi_i32", binary32<[](u32 a, u32 b, bool) { return Out32{static_cast<u32>(i64{to_signed(a)} * to_signed(b) >> 32), kKeep}; }>},
      {"s_lshl1_add_u32", binary32<[](u32 a, u32 b, bool) { return Out32{(a << 1) + b, ((u64{a} << 1) + b) >> 32 != 0}; }>},
      {"s_lshl2_add_u32", binary32<[](u32 a, u32 b, bool) { return Out32{(a << 2) + b, ((u64{a} << 2) + b) >> 32 != 0}; }>},
      {"s_lshl3_add_u32", binary32<[](u32 a, u32 b, bool) { return Out32{(a << 3) + b, ((u64{a} << 3) + b) >> 32 != 0}; }>},
      {"s_lshl4_add_u32", binary32<[](u32 a, u32 b, bool) { return Out32{(a << 4) + b, ((u64{a} << 4) + b) >> 32 != 0}; }>},
      {"s_absdiff_i32", binary32<[](u32 a, u32 b, bool) { const u32 d = a - b; return logic(to_signed(d) < 0 ? 0 - d : d); }>},
      {"s_abs_i32", unary32<[](u32 a) { return logic(to_signed(a) < 0 ? 0 - a : a); }>},
      {"s_sext_i32_i8", unary32<[](u32 a) { return Out32{static_cast<u32>(static_cast<std::int8_t>(a)), kKeep}; }>},
      {"s_sext_i32_i16", unary32<[](u32 a) { return Out32{static_cast<u32>(static_cast<std::int16_t>(a)), kKeep}; }>},
      {"s_movk_i32", movk}, {"s_cmovk_i32", cmovk}, {"s_addk_i32", addk}, {"s_mulk_i32", mulk},
      {"s_pack_ll_b32_b16", binary32<[](u32 a, u32 b, bool) { return Out32{(a & 0xffff) | b << 16, kKeep}; }>},
      {"s_pack_lh_b32_b16", binary32<[](u32 a, u32 b, bool) { return Out32{(a & 0xffff) | (b & 0xffff0000), kKeep}; }>},
      {"s_pack_hh_b32_b16", binary32<[](u32 a, u32 b, bool) { return Out32{a >> 16 | (b & 0xffff0000), kKeep}; }>},
  };
}

std::vector<Semantics> bitwise() {
  return {
      {"s_and_b32", binary32<[](u32 a, u32 b, bool) { return logic(a & b); }>},
      {"s_or_b32", binary32<[](u32 a, u32 b, bool) { return logic(a | b); }>},
      {"s_xor_b32", binary32<[](u32 a, u32 b, bool) { return logic(a ^ b); }>},
      {"s_andn2_b32", binary32<[](u32 a, u32 b, bool) { return logic(a & ~b); }>},
      {"s_orn2_b32", binary32<[](u32 a, u32 b, bool) { return logic(a | ~b); }>},
      {"s_nand_b32", binary32<[](u32 a, u32 b, bool) { return logic(~(a & b)); }>},
      {"s_nor_b32", binary32<[](u32 a, u32 b, bool) { return logic(~(a | b)); }>},
      {"s_xnor_b32", binary32<[](u32 a, u32 b, bool) { return logic(~(a ^ b)); }>},
      {"s_lshl_b32", binary32<[](u32 a, u32 b, bool) { return logic(a << (b & 31)); }>},
      {"s_lshr_b32", binary32<[](u32 a, u32 b, bool) { return logic(a >> (b & 31)); }>},
      {"s_ashr_i32", binary32<[](u32 a, u32 b, bool) { return logic(static_cast<u32>(to_signed(a) >> (b & 31))); }>},
      {"s_bfm_b32", binary32<[](u32 a, u32 b, bool) { return Out32{low_bits(a & 31) << (b & 31), kKeep}; }>},
      {"s_bfe_u32", binary32<bfe_u32>}, {"s_bfe_i32", binary32<bfe_i32>},
      {"s_and_b64", binary64<[](u64 a, u64 b) { return logic(a & b); }>, Type::kB64},
      {"s_or_b64", binary64<[](u64 a, u64 b) { return logic(a | b); }>, Type::kB64},
      {"s_xor_b64", binary64<[](u64 a, u64 b) { return logic(a ^ b); }>, Type::kB64},
      {"s_andn2_b64", binary64<[](u64 a, u64 b) { return logic(a & ~b); }>, Type::kB64},
      {"s_orn2_b64", binary64<[](u64 a, u64 b) { return logic(a | ~b); }>, Type::kB64},
      {"s_nand_b64", binary64<[](u64 a, u64 b) { return logic(~(a & b)); }>, Type::kB64},
      {"s_nor_b64", binary64<[](u64 a, u64 b) { return logic(~(a | b)); }>, Type::kB64},
      {"s_xnor_b64", binary64<[](u64 a, u64 b) { return logic(~(a ^ b)); }>, Type::kB64},
      {"s_lshl_b64", binary64_32<[](u64 a, u32 b) { return logic(a << (b & 63)); }>, Type::kB64},
      {"s_lshr_b64", binary64_32<[](u64 a, u32 b) { return logic(a >> (b & 63)); }>, Type::kB64},
      {"s_ashr_i64", binary64_32<[](u64 a, u32 b) { return logic(static_cast<u64>(static_cast<i64>(a) >> (b & 63))); }>, Type::kB64},
      {"s_bfe_u64", binary64_32<bfe_u64>, Type::kB64}, {"s_bfe_i64", binary64_32<bfe_i64>, Type::kB64},
      {"s_bfm_b64", make64<[](u32 a, u32 b) { return low_bits64(a & 63) << (b & 63); }>, Type::kB64},
      {"s_not_b32", unary32<[](u32 a) { return logic(~a); }>},
      {"s_not_b64", unary64<[](u64 a) { return logic(~a); }>, Type::kB64},
      {"s_brev_b32", unary32<[](u32 a) { return Out32{reverse32(a), kKeep}; }>},
      {"s_brev_b64", unary64<[](u64 a) { return Out64{u64{reverse32(static_cast<u32>(a))} << 32 | reverse32(static_cast<u32>(a >> 32)), kKeep}; }>, Type::kB64},
      {"s_bcnt0_i32_b32", unary32<[](u32 a) { return logic(static_cast<u32>(32 - std::popcount(a))); }>},
      {"s_bcnt1_i32_b32", unary32<[](u32 a) { return logic(static_cast<u32>(std::popcount(a))); }>},
      {"s_bcnt0_i32_b64", narrow<[](u64 a) { return logic(static_cast<u32>(64 - std::popcount(a))); }>, Type::kB64},
      {"s_bcnt1_i32_b64", narrow<[](u64 a) { return logic(static_cast<u32>(std::popcount(a))); }>, Type::kB64},
      {"s_ff1_i32_b32", unary32<[](u32 a) { return Out32{a ? static_cast<u32>(std::countr_zero(a)) : ~0u, kKeep}; }>},
      {"s_ff1_i32_b64", narrow<[](u64 a) { return Out32{a ? static_cast<u32>(std::countr_zero(a)) : ~0u, kKeep}; }>, Type::kB64},
      {"s_ff0_i32_b32", unary32<[](u32 a) { return Out32{~a ? static_cast<u32>(std::countr_one(a)) : ~0u, kKeep}; }>},
      {"s_flbit_i32_b32", unary32<[](u32 a) { return Out32{a ? static_cast<u32>(std::countl_zero(a)) : ~0u, kKeep}; }>},
      {"s_flbit_i32_b64", narrow<[](u64 a) { return Out32{a ? static_cast<u32>(std::countl_zero(a)) : ~0u, kKeep}; }>, Type::kB64},
      {"s_bitset0_b32", bitset32<false>}, {"s_bitset1_b32", bitset32<true>},
      {"s_mov_b32", unary32<[](u32 a) { return Out32{a, kKeep}; }>},
      {"s_mov_b64", unary64<[](u64 a) { return Out64{a, kKeep}; }>, Type::kB64},
      {"s_cmov_b32", cmov32}, {"s_cmov_b64", cmov64, Type::kB64},
      {"s_cselect_b64", [](Wave& w, const Inst& in) {
         set_scalar64(w, in.op[0], scalar64(w, in.op[w.scc ? 1 : 2]));
         return Flow::kNext;
       }, Type::kB64},
      {"s_wqm_b64", unary64<[](u64 a) {
         u64 r = 0;
         for (int quad = 0; quad < 64; quad += 4) r |= (a >> quad & 15 ? u64{15} : 0) << quad;
         return logic(r);
       }>, Type::kB64},
  };
}

std::vector<Semantics> compares() {
  return {
      {"s_cmp_eq_i32", compare32<[](u32 a, u32 b) { return a == b; }>},
      {"s_cmp_lg_i32", compare32<[](u32 a, u32 b) { return a != b; }>},
      {"s_cmp_gt_i32", compare32<[](u32 a, u32 b) { return to_signed(a) > to_signed(b); }>},
      {"s_cmp_ge_i32", compare32<[](u32 a, u32 b) { return to_signed(a) >= to_signed(b); }>},
      {"s_cmp_lt_i32", compare32<[](u32 a, u32 b) { return to_signed(a) < to_signed(b); }>},
      {"s_cmp_le_i32", compare32<[](u32 a, u32 b) { return to_signed(a) <= to_signed(b); }>},
      {"s_cmp_eq_u32", compare32<[](u32 a, u32 b) { return a == b; }>},
      {"s_cmp_lg_u32", compare32<[](u32 a, u32 b) { return a != b; }>},
      {"s_cmp_gt_u32", compare32<[](u32 a, u32 b) { return a > b; }>},
      {"s_cmp_ge_u32", compare32<[](u32 a, u32 b) { return a >= b; }>},
      {"s_cmp_lt_u32", compare32<[](u32 a, u32 b) { return a < b; }>},
      {"s_cmp_le_u32", compare32<[](u32 a, u32 b) { return a <= b; }>},
      {"s_cmp_eq_u64", compare64<[](u64 a, u64 b) { return a == b; }>, Type::kB64},
      {"s_cmp_lg_u64", compare64<[](u64 a, u64 b) { return a != b; }>, Type::kB64},
      {"s_bitcmp0_b32", compare32<[](u32 a, u32 b) { return (a >> (b & 31) & 1) == 0; }>},
      {"s_bitcmp1_b32", compare32<[](u32 a, u32 b) { return (a >> (b & 31) & 1) == 1; }>},
      {"s_bitcmp0_b64", [](Wave& w, const Inst& in) {
         w.scc = (scalar64(w, in.op[0]) >> (scalar32(w, in.op[1]) & 63) & 1) == 0;
         return Flow::kNext;
       }, Type::kB64},
      {"s_bitcmp1_b64", [](Wave& w, const Inst& in) {
         w.scc = scalar64(w, in.op[0]) >> (scalar32(w, in.op[1]) & 63) & 1;
         return Flow::kNext;
       }, Type::kB64},
      {"s_cmpk_eq_i32", compare_k<[](u32 a, u64 k) { return a == static_cast<u32>(static_cast<std::int16_t>(k)); }>},
      {"s_cmpk_lg_i32", compare_k<[](u32 a, u64 k) { return a != static_cast<u32>(static_cast<std::int16_t>(k)); }>},
      {"s_cmpk_gt_i32", compare_k<[](u32 a, u64 k) { return to_signed(a) > static_cast<std::int16_t>(k); }>},
      {"s_cmpk_ge_i32", compare_k<[](u32 a, u64 k) { return to_signed(a) >= static_cast<std::int16_t>(k); }>},
      {"s_cmpk_lt_i32", compare_k<[](u32 a, u64 k) { return to_signed(a) < static_cast<std::int16_t>(k); }>},
      {"s_cmpk_le_i32", compare_k<[](u32 a, u64 k) { return to_signed(a) <= static_cast<std::int16_t>(k); }>},
      {"s_cmpk_eq_u32", compare_k<[](u32 a, u64 k) { return a == (k & 0xffff); }>},
      {"s_cmpk_lg_u32", compare_k<[](u32 a, u64 k) { return a != (k & 0xffff); }>},
      {"s_cmpk_gt_u32", compare_k<[](u32 a, u64 k) { return a > (k & 0xffff); }>},
      {"s_cmpk_ge_u32", compare_k<[](u32 a, u64 k) { return a >= (k & 0xffff); }>},
      {"s_cmpk_lt_u32", compare_k<[](u32 a, u64 k) { return a < (k & 0xffff); }>},
      {"s_cmpk_le_u32", compare_k<[](u32 a, u64 k) { return a <= (k & 0xffff); }>},
  };
}

std::vector<Semantics> control() {
  return {
      {"s_endpgm", end}, {"s_barrier", barrier}, {"s_sleep", sleep}, {"s_trap", trap},
      {"s_nop", next}, {"s_waitcnt", next}, {"s_setprio", next}, {"s_sethalt", next}, {"s_sendmsg", next},
      {"s_icache_inv", next}, {"s_dcache_inv", next}, {"s_dcache_wb", next}, {"s_code_end", end},
      {"s_inst_prefetch", next}, {"s_ttracedata", next},
      {"s_branch", branch<[](const Wave&) { return true; }>},
      {"s_cbranch_scc0", branch<[](const Wave& w) { return !w.scc; }>},
      {"s_cbranch_scc1", branch<[](const Wave& w) { return w.scc; }>},
      {"s_cbranch_vccz", branch<[](const Wave& w) { return w.s64(kVcc) == 0; }>},
      {"s_cbranch_vccnz", branch<[](const Wave& w) { return w.s64(kVcc) != 0; }>},
      {"s_cbranch_execz", branch<[](const Wave& w) { return w.exec() == 0; }>},
      {"s_cbranch_execnz", branch<[](const Wave& w) { return w.exec() != 0; }>},
      {"s_getpc_b64", getpc, Type::kB64}, {"s_setpc_b64", setpc, Type::kB64}, {"s_swappc_b64", swappc, Type::kB64},
      {"s_getreg_b32", getreg}, {"s_setreg_b32", setreg}, {"s_setreg_imm32_b32", setreg},
      {"s_memtime", memtime}, {"s_memrealtime", memtime},
      {"s_load_dword", load<1>}, {"s_load_dwordx2", load<2>}, {"s_load_dwordx4", load<4>},
      {"s_load_dwordx8", load<8>}, {"s_load_dwordx16", load<16>},
      {"s_buffer_load_dword", buffer_load<1>}, {"s_buffer_load_dwordx2", buffer_load<2>},
      {"s_buffer_load_dwordx4", buffer_load<4>}, {"s_buffer_load_dwordx8", buffer_load<8>},
      {"s_and_saveexec_b64", saveexec<[](u64 a, u64 e) { return a & e; }>, Type::kB64},
      {"s_or_saveexec_b64", saveexec<[](u64 a, u64 e) { return a | e; }>, Type::kB64},
      {"s_xor_saveexec_b64", saveexec<[](u64 a, u64 e) { return a ^ e; }>, Type::kB64},
      {"s_andn2_saveexec_b64", saveexec<[](u64 a, u64 e) { return a & ~e; }>, Type::kB64},
      {"s_orn2_saveexec_b64", saveexec<[](u64 a, u64 e) { return a | ~e; }>, Type::kB64},
      {"s_nand_saveexec_b64", saveexec<[](u64 a, u64 e) { return ~(a & e); }>, Type::kB64},
      {"s_nor_saveexec_b64", saveexec<[](u64 a, u64 e) { return ~(a | e); }>, Type::kB64},
      {"s_xnor_saveexec_b64", saveexec<[](u64 a, u64 e) { return ~(a ^ e); }>, Type::kB64},
      {"s_andn1_saveexec_b64", saveexec<[](u64 a, u64 e) { return ~a & e; }>, Type::kB64},
      {"s_orn1_saveexec_b64", saveexec<[](u64 a, u64 e) { return ~a | e; }>, Type::kB64},
  };
}
}  // namespace

std::vector<Semantics> scalar_semantics() {
  std::vector<Semantics> all = arithmetic();
  for (auto list : {bitwise(), compares(), control()}) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace attest::emulator

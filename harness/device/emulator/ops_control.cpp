// SOPC, SOPP, SMEM, the program counter, EXEC and the hardware registers. Source: AMD Instinct
// MI300 ISA, chapters 4, 8 and 12.5.
#include <fmt/format.h>

#include <array>

#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/store_buffer.hpp"

namespace attest::emulator {
namespace {

// SOPP and SOPK: the 16-bit immediate, sign-extended.
i32 simm(const Inst& in, int slot) { return static_cast<std::int16_t>(in.op[slot].value); }
constexpr u32 low_bits(u32 count) { return count >= 32 ? ~0u : (1u << count) - 1; }

constexpr i32 to_signed(u32 value) { return static_cast<i32>(value); }

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

// As above, but the new EXEC goes to the destination.
template <auto Fn>
Flow wrexec(Wave& w, const Inst& in) {
  const u64 result = Fn(scalar64(w, in.op[1]), w.exec());
  set_scalar64(w, in.op[0], result);
  w.set_s64(kExec, result);
  w.scc = result != 0;
  return Flow::kNext;
}

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
// Program counters that a kernel sees are image offsets with this base, so that code addresses are
// addresses.
u64 pc_base(const Wave& w) {
  return w.program->object ? reinterpret_cast<u64>(w.program->object->image().data()) : 0;
}
Flow getpc(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], pc_base(w) + in.next_pc);
  return Flow::kNext;
}
Flow setpc(Wave& w, const Inst& in) { return jump_to(w, in, scalar64(w, in.op[0]) - pc_base(w)); }
Flow call(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], pc_base(w) + in.next_pc);
  return jump_to(w, in, in.next_pc + static_cast<u64>(i64{simm(in, 1)} * 4));
}
Flow swappc(Wave& w, const Inst& in) {
  const u64 target = scalar64(w, in.op[1]) - pc_base(w);
  set_scalar64(w, in.op[0], pc_base(w) + in.next_pc);
  return jump_to(w, in, target);
}

// hwreg immediate: id [5:0], offset [10:6], size - 1 [15:11]. MODE is the register that changes
// results.
Flow getreg(Wave& w, const Inst& in) {
  const u32 spec = static_cast<u32>(in.op[1].value), id = spec & 63;
  const u32 value = id == 1 ? w.mode : 0;
  set_scalar32(w, in.op[0], value >> (spec >> 6 & 31) & low_bits((spec >> 11 & 31) + 1));
  return Flow::kNext;
}
Flow setreg(Wave& w, const Inst& in) {
  const u32 spec = static_cast<u32>(in.op[0].value), id = spec & 63;
  if (id != 1)
    return fault(w, in,
                 fmt::format("s_setreg of hardware register {}: the emulator has only MODE", id));
  const u32 shift = spec >> 6 & 31, mask = low_bits((spec >> 11 & 31) + 1) << shift;
  w.mode = (w.mode & ~mask) | (scalar32(w, in.op[1]) << shift & mask);
  set_host_control(host_control_f32(w.mode));
  return Flow::kNext;
}
Flow memtime(Wave& w, const Inst& in) {
  set_scalar64(w, in.op[0], 0);  // no clock: a run must not depend on time
  return Flow::kNext;
}

void watch_scalar(const Wave& w, const Inst& in, u64* address, int bytes) {
  if (Monitor* const monitor = w.group->monitor) {
    monitor->global(w, in, address,
                    {.kind = AccessKind::kLoad, .bytes = bytes, .lanes = 1, .scalar = true}, -1);
  }
  if (w.group->stores) w.group->stores->settle(address, 1, bytes);
}

void watch_outside(const Wave& w, const Inst& in, u64 address, int bytes) {
  if (Monitor* const monitor = w.group->monitor) monitor->outside(w, in, -1, address, bytes);
}

// s_load: base + offset, low two bits ignored. Source: CDNA3 ISA, "Scalar memory reads".
template <int kDwords>
Flow load(Wave& w, const Inst& in) {
  const u64 offset = in.op[2].kind == Operand::Kind::kScalar
                         ? scalar32(w, in.op[2])
                         : static_cast<u64>(static_cast<i64>(in.op[2].value));
  u64 address = (scalar64(w, in.op[1]) + offset + static_cast<i64>(in.offset)) & ~u64{3};
  AddressRange& seen = (*w.group->cache)[in.index];
  if (address < seen.begin || address + 4 * kDwords > seen.end) {
    const Allocation* found = w.group->memory->find(address);
    if (!found || address + 4 * kDwords > found->end) {
      watch_outside(w, in, address, 4 * kDwords);
      return fault(w, in,
                   fmt::format("scalar read of {} bytes at {:#x} is outside every buffer: {}",
                               4 * kDwords, address, w.group->memory->nearest(address)));
    }
    seen = {found->begin, found->end};
  }
  watch_scalar(w, in, &address, 4 * kDwords);
  std::memcpy(&w.s[in.op[0].reg], reinterpret_cast<const void*>(address), 4 * kDwords);
  return Flow::kNext;
}
// s_buffer_load: the resource's base (48 bits) and num_records bound the read; outside reads give
// zero.
template <int kDwords>
Flow buffer_load(Wave& w, const Inst& in) {
  const u64 base = w.s64(in.op[1].reg) & 0xffffffffffff;
  const u32 records = w.s[in.op[1].reg + 2];
  const u64 offset = ((in.op[2].kind == Operand::Kind::kScalar ? scalar32(w, in.op[2])
                                                               : static_cast<u32>(in.op[2].value)) +
                      static_cast<u32>(in.offset)) &
                     ~3u;
  int inside = 0;  // dwords, the first ones
  for (u64 end = offset + 4; inside < kDwords && end <= records; ++inside, end += 4) {
    const Allocation* found = w.group->memory->find(base + end - 4);
    if (found && base + end <= found->end) continue;
    watch_outside(w, in, base + end - 4, 4);
    return fault(w, in,
                 fmt::format("scalar buffer read at {:#x} is outside every buffer: {}",
                             base + end - 4, w.group->memory->nearest(base + end - 4)));
  }
  std::array<u32, kDwords> values{};
  if (inside > 0) {
    u64 address = base + offset;
    watch_scalar(w, in, &address, 4 * inside);
    std::memcpy(values.data(), reinterpret_cast<const void*>(address),
                4 * static_cast<std::size_t>(inside));
  }
  std::memcpy(&w.s[in.op[0].reg], values.data(), sizeof values);
  return Flow::kNext;
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
      {"s_bitcmp0_b64",
       [](Wave& w, const Inst& in) {
         w.scc = (scalar64(w, in.op[0]) >> (scalar32(w, in.op[1]) & 63) & 1) == 0;
         return Flow::kNext;
       },
       Type::kB64},
      {"s_bitcmp1_b64",
       [](Wave& w, const Inst& in) {
         w.scc = scalar64(w, in.op[0]) >> (scalar32(w, in.op[1]) & 63) & 1;
         return Flow::kNext;
       },
       Type::kB64},
      {"s_cmpk_eq_i32",
       compare_k<[](u32 a, u64 k) { return a == static_cast<u32>(static_cast<std::int16_t>(k)); }>},
      {"s_cmpk_lg_i32",
       compare_k<[](u32 a, u64 k) { return a != static_cast<u32>(static_cast<std::int16_t>(k)); }>},
      {"s_cmpk_gt_i32",
       compare_k<[](u32 a, u64 k) { return to_signed(a) > static_cast<std::int16_t>(k); }>},
      {"s_cmpk_ge_i32",
       compare_k<[](u32 a, u64 k) { return to_signed(a) >= static_cast<std::int16_t>(k); }>},
      {"s_cmpk_lt_i32",
       compare_k<[](u32 a, u64 k) { return to_signed(a) < static_cast<std::int16_t>(k); }>},
      {"s_cmpk_le_i32",
       compare_k<[](u32 a, u64 k) { return to_signed(a) <= static_cast<std::int16_t>(k); }>},
      {"s_cmpk_eq_u32", compare_k<[](u32 a, u64 k) { return a == (k & 0xffff); }>},
      {"s_cmpk_lg_u32", compare_k<[](u32 a, u64 k) { return a != (k & 0xffff); }>},
      {"s_cmpk_gt_u32", compare_k<[](u32 a, u64 k) { return a > (k & 0xffff); }>},
      {"s_cmpk_ge_u32", compare_k<[](u32 a, u64 k) { return a >= (k & 0xffff); }>},
      {"s_cmpk_lt_u32", compare_k<[](u32 a, u64 k) { return a < (k & 0xffff); }>},
      {"s_cmpk_le_u32", compare_k<[](u32 a, u64 k) { return a <= (k & 0xffff); }>},
  };
}

std::vector<Semantics> branches_and_memory() {
  return {
      {"s_endpgm", end},
      {"s_barrier", barrier},
      {"s_sleep", sleep},
      {"s_trap", trap},
      {"s_nop", next},
      {"s_waitcnt", next},
      {"s_setprio", next},
      {"s_sethalt", next},
      {"s_sendmsg", next},
      {"s_icache_inv", next},
      {"s_dcache_inv", next},
      {"s_dcache_wb", next},
      {"s_code_end", end},
      {"s_inst_prefetch", next},
      {"s_ttracedata", next},
      {"s_branch", branch<[](const Wave&) { return true; }>},
      {"s_cbranch_scc0", branch<[](const Wave& w) { return !w.scc; }>},
      {"s_cbranch_scc1", branch<[](const Wave& w) { return w.scc; }>},
      {"s_cbranch_vccz", branch<[](const Wave& w) { return w.s64(kVcc) == 0; }>},
      {"s_cbranch_vccnz", branch<[](const Wave& w) { return w.s64(kVcc) != 0; }>},
      {"s_cbranch_execz", branch<[](const Wave& w) { return w.exec() == 0; }>},
      {"s_cbranch_execnz", branch<[](const Wave& w) { return w.exec() != 0; }>},
      {"s_getpc_b64", getpc, Type::kB64},
      {"s_setpc_b64", setpc, Type::kB64},
      {"s_swappc_b64", swappc, Type::kB64},
      {"s_call_b64", call, Type::kB64},
      {"s_getreg_b32", getreg},
      {"s_setreg_b32", setreg},
      {"s_setreg_imm32_b32", setreg},
      {"s_memtime", memtime},
      {"s_memrealtime", memtime},
      {"s_load_dword", load<1>},
      {"s_load_dwordx2", load<2>},
      {"s_load_dwordx4", load<4>},
      {"s_load_dwordx8", load<8>},
      {"s_load_dwordx16", load<16>},
      {"s_buffer_load_dword", buffer_load<1>},
      {"s_buffer_load_dwordx2", buffer_load<2>},
      {"s_buffer_load_dwordx4", buffer_load<4>},
      {"s_buffer_load_dwordx8", buffer_load<8>},
      {"s_buffer_load_dwordx16", buffer_load<16>},
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
      {"s_andn1_wrexec_b64", wrexec<[](u64 a, u64 e) { return ~a & e; }>, Type::kB64},
      {"s_andn2_wrexec_b64", wrexec<[](u64 a, u64 e) { return a & ~e; }>, Type::kB64},
  };
}

}  // namespace

std::vector<Semantics> control_semantics() {
  std::vector<Semantics> all = compares();
  for (const Semantics& entry : branches_and_memory()) all.push_back(entry);
  return all;
}

}  // namespace attest::emulator

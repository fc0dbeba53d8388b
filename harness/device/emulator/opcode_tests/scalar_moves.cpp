// Scalar moves, bit operations and EXEC masks. Rules: CDNA3 ISA guide, "SOP1 instructions", "SOP2
// instructions".
#include <algorithm>

#include "harness/device/emulator/opcode_tests/scalar_op.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kW = Kind::kU64, kS = Kind::kShift;
After nonzero32(u32 d) { return {d, d != 0, {}}; }
After nonzero64(u64 d) { return {d, d != 0, {}}; }
u64 reversed(u64 x, int bits) {
  u64 r = 0;
  for (int i = 0; i < bits; ++i) r |= ((x >> i) & 1) << (bits - 1 - i);
  return r;
}
After quads(u64 x, int bits) {  // s_wqm: every quad with a bit set becomes full
  u64 r = 0;
  for (int i = 0; i < bits; i += 4) r |= (x >> i) & 15 ? u64{15} << i : 0;
  return nonzero64(r);
}
template <u64 (*kFn)(u64, u64)>
After saveexec(const Scalar& x) {
  const u64 e = kFn(x.a, x.exec);
  return {x.exec, e != 0, e};
}
template <u64 (*kFn)(u64, u64)>
After wrexec(const Scalar& x) {
  const u64 e = kFn(x.a, x.exec);
  return {e, e != 0, e};
}
u64 f_and(u64 a, u64 b) { return a & b; }
u64 f_or(u64 a, u64 b) { return a | b; }
u64 f_xor(u64 a, u64 b) { return a ^ b; }
u64 f_andn1(u64 a, u64 b) { return ~a & b; }
u64 f_andn2(u64 a, u64 b) { return a & ~b; }
u64 f_orn1(u64 a, u64 b) { return ~a | b; }
u64 f_orn2(u64 a, u64 b) { return a | ~b; }
u64 f_nand(u64 a, u64 b) { return ~(a & b); }
u64 f_nor(u64 a, u64 b) { return ~(a | b); }
u64 f_xnor(u64 a, u64 b) { return ~(a ^ b); }
template <u64 (*kFn)(u64, u64)>
After bits32(const Scalar& x) {
  return nonzero32(static_cast<u32>(kFn(x.a, x.b)));
}
template <u64 (*kFn)(u64, u64)>
After bits64(const Scalar& x) {
  return nonzero64(kFn(x.a, x.b));
}

const std::vector<ScalarOp> kMoves = {
    {"s_mov_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{x.ua(), {}, {}};
     }},
    {"s_mov_b64", kDS, 2, 2, 0, kW, kU,
     [](const Scalar& x) {
       return After{x.a, {}, {}};
     }},
    {"s_cmov_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{x.scc ? x.ua() : u32(x.d), {}, {}};
     }},
    {"s_cmov_b64", kDS, 2, 2, 0, kW, kU,
     [](const Scalar& x) {
       return After{x.scc ? x.a : x.d, {}, {}};
     }},
    {"s_not_b32", kDS, 1, 1, 0, kU, kU, [](const Scalar& x) { return nonzero32(~x.ua()); }},
    {"s_not_b64", kDS, 2, 2, 0, kW, kU, [](const Scalar& x) { return nonzero64(~x.a); }},
    {"s_wqm_b32", kDS, 1, 1, 0, kU, kU, [](const Scalar& x) { return quads(x.ua(), 32); }},
    {"s_wqm_b64", kDS, 2, 2, 0, kW, kU, [](const Scalar& x) { return quads(x.a, 64); }},
    {"s_brev_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{reversed(x.ua(), 32), {}, {}};
     }},
    {"s_brev_b64", kDS, 2, 2, 0, kW, kU,
     [](const Scalar& x) {
       return After{reversed(x.a, 64), {}, {}};
     }},
    {"s_bcnt0_i32_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) { return nonzero32(32 - std::popcount(x.ua())); }},
    {"s_bcnt0_i32_b64", kDS, 1, 2, 0, kW, kU,
     [](const Scalar& x) { return nonzero32(64 - std::popcount(x.a)); }},
    {"s_bcnt1_i32_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) { return nonzero32(std::popcount(x.ua())); }},
    {"s_bcnt1_i32_b64", kDS, 1, 2, 0, kW, kU,
     [](const Scalar& x) { return nonzero32(std::popcount(x.a)); }},
    {"s_ff0_i32_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{~x.ua() ? u32(std::countr_one(x.ua())) : ~u32{0}, {}, {}};
     }},
    {"s_ff0_i32_b64", kDS, 1, 2, 0, kW, kU,
     [](const Scalar& x) {
       return After{~x.a ? u32(std::countr_one(x.a)) : ~u32{0}, {}, {}};
     }},
    {"s_ff1_i32_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{x.ua() ? u32(std::countr_zero(x.ua())) : ~u32{0}, {}, {}};
     }},
    {"s_ff1_i32_b64", kDS, 1, 2, 0, kW, kU,
     [](const Scalar& x) {
       return After{x.a ? u32(std::countr_zero(x.a)) : ~u32{0}, {}, {}};
     }},
    {"s_flbit_i32_b32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{x.ua() ? u32(std::countl_zero(x.ua())) : ~u32{0}, {}, {}};
     }},
    {"s_flbit_i32_b64", kDS, 1, 2, 0, kW, kU,
     [](const Scalar& x) {
       return After{x.a ? u32(std::countl_zero(x.a)) : ~u32{0}, {}, {}};
     }},
    {"s_flbit_i32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       const u32 y = x.ia() < 0 ? ~x.ua() : x.ua();
       return After{y ? u32(std::countl_zero(y)) : ~u32{0}, {}, {}};
     }},
    {"s_flbit_i32_i64", kDS, 1, 2, 0, kW, kU,
     [](const Scalar& x) {
       const u64 y = static_cast<i64>(x.a) < 0 ? ~x.a : x.a;
       return After{y ? u32(std::countl_zero(y)) : ~u32{0}, {}, {}};
     }},
    {"s_sext_i32_i8", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{u32(sign_extended(x.ua() & 0xff, 8)), {}, {}};
     }},
    {"s_sext_i32_i16", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) {
       return After{u32(sign_extended(x.ua() & 0xffff, 16)), {}, {}};
     }},
    {"s_bitset0_b32", kDS, 1, 1, 0, kS, kU,
     [](const Scalar& x) {
       return After{u32(x.d) & ~(1u << (x.ua() & 31)), {}, {}};
     }},
    {"s_bitset1_b32", kDS, 1, 1, 0, kS, kU,
     [](const Scalar& x) {
       return After{u32(x.d) | 1u << (x.ua() & 31), {}, {}};
     }},
    {"s_abs_i32", kDS, 1, 1, 0, kU, kU,
     [](const Scalar& x) { return nonzero32(x.ia() < 0 ? 0 - x.ua() : x.ua()); }},
    {"s_and_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_and>},
    {"s_or_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_or>},
    {"s_xor_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_xor>},
    {"s_andn1_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_andn1>},
    {"s_andn2_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_andn2>},
    {"s_orn1_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_orn1>},
    {"s_orn2_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_orn2>},
    {"s_nand_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_nand>},
    {"s_nor_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_nor>},
    {"s_xnor_saveexec_b64", kDS, 2, 2, 0, kW, kU, saveexec<f_xnor>},
    {"s_andn1_wrexec_b64", kDS, 2, 2, 0, kW, kU, wrexec<f_andn1>},
    {"s_andn2_wrexec_b64", kDS, 2, 2, 0, kW, kU, wrexec<f_andn2>},
    {"s_and_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_and>},
    {"s_and_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_and>},
    {"s_or_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_or>},
    {"s_or_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_or>},
    {"s_xor_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_xor>},
    {"s_xor_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_xor>},
    {"s_andn2_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_andn2>},
    {"s_andn2_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_andn2>},
    {"s_orn2_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_orn2>},
    {"s_orn2_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_orn2>},
    {"s_nand_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_nand>},
    {"s_nand_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_nand>},
    {"s_nor_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_nor>},
    {"s_nor_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_nor>},
    {"s_xnor_b32", kDSS, 1, 1, 1, kU, kU, bits32<f_xnor>},
    {"s_xnor_b64", kDSS, 2, 2, 2, kW, kW, bits64<f_xnor>},
};

}  // namespace

const std::vector<ScalarOp>& scalar_moves() { return kMoves; }

}  // namespace attest::emulator::opcode_tests

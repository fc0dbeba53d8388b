// 16-bit integer instructions of VOP2 and VOP3. Rules: CDNA3 ISA guide, "VOP2 instructions".
#include <gtest/gtest.h>

#include <algorithm>

#include "harness/device/emulator/opcode_tests/tables.hpp"

namespace attest::emulator::opcode_tests {
namespace {

constexpr Kind kU = Kind::kU32, kH = Kind::kU16;

i64 signed16(u32 x) { return sign_extended(x & 0xffff, 16); }

const std::vector<VectorOp> kOps = {
    // 16-bit results clear the upper half of the register (LLVM,
    // GCNSubtarget::zeroesHigh16BitsOfDest: up to gfx9).
    {"v_add_u16", kVop2, kU, {kH, kH}, [](const Lane& x) { return u64(u16(x.u(0) + x.u(1))); }},
    {"v_sub_u16", kVop2, kU, {kH, kH}, [](const Lane& x) { return u64(u16(x.u(0) - x.u(1))); }},
    {"v_subrev_u16", kVop2, kU, {kH, kH}, [](const Lane& x) { return u64(u16(x.u(1) - x.u(0))); }},
    {"v_mul_lo_u16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16((x.u(0) & 0xffff) * (x.u(1) & 0xffff))); }},
    {"v_lshlrev_b16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(x.u(1) << (x.u(0) & 15))); }},
    {"v_lshrrev_b16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64((x.u(1) & 0xffff) >> (x.u(0) & 15)); }},
    {"v_ashrrev_i16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(signed16(x.u(1)) >> (x.u(0) & 15))); }},
    {"v_min_u16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(std::min(u16(x.u(0)), u16(x.u(1)))); }},
    {"v_max_u16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(std::max(u16(x.u(0)), u16(x.u(1)))); }},
    {"v_min_i16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(std::min(signed16(x.u(0)), signed16(x.u(1))))); }},
    {"v_max_i16",
     kVop2,
     kU,
     {kH, kH},
     [](const Lane& x) { return u64(u16(std::max(signed16(x.u(0)), signed16(x.u(1))))); }},
    {"v_mad_legacy_u16",
     kVop3,
     kU,
     {kH, kH, kH},
     [](const Lane& x) { return u64(u16((x.u(0) & 0xffff) * (x.u(1) & 0xffff) + x.u(2))); }},
};

}  // namespace

const std::vector<VectorOp>& vector_short_ops() { return kOps; }

TEST(VectorShort, FollowsTheIsaGuide) { check(vector_short_ops()); }

}  // namespace attest::emulator::opcode_tests

#include "harness/device/emulator/opcode_tests/vector_op.hpp"

namespace attest::emulator::opcode_tests {
namespace {

const std::vector<u64> kWords = {
    0,          1,          2,          5,          0x7f,       0x80,       0xff,       0x7fff,
    0x8000,     0xffff,     0x10000,    0x7fffff,   0x800000,   0xffffff,   0x1000000,  0x12345678,
    0x80000001, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff, 0xdeadbeef, 0x00ff00ff, 0xa5a5a5a5};
const std::vector<u64> kShifts = {0,  1,  7,  8,  15,         16,       31,
                                  32, 33, 63, 64, 0xffffffff, 0x1f001f, 0x50003};
const std::vector<u64> kFloats = {
    0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x00000001, 0x80000001, 0x007fffff,
    0x807fffff, 0x00800000, 0x80800000, 0x00ffffff, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001, 0xffa00000, 0x3f000000, 0x3fc00000,
    0x40200000, 0x4b000001, 0x4affffff, 0x3f7fffff, 0x3f800001, 0x40490fdb, 0xc2f6e979,
    0x4f000000, 0xcf000000, 0x4f800000, 0x33800000, 0x1e3ce508, 0x5e9a130c};
const std::vector<u64> kDoubles = {
    0x0000000000000000, 0x8000000000000000, 0x3ff0000000000000, 0xbff0000000000000,
    0x0000000000000001, 0x800fffffffffffff, 0x0010000000000000, 0x001fffffffffffff,
    0x7fefffffffffffff, 0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000,
    0x7ff8000000000000, 0x7ff0000000000001, 0xfff4000000000000, 0x3fe0000000000000,
    0x3ff8000000000000, 0xc004000000000000, 0x4330000000000001, 0x41dfffffffc00000,
    0xc1e0000000000000, 0x41efffffffe00000, 0x41f0000000000000, 0x3ff0000010000000,
    0x3ff0000030000000, 0x36a0000000000000, 0x380fffffe0000000, 0x47efffffefffffff,
    0x47effffff0000000, 0x400921fb54442d18};
const std::vector<u64> kHalves = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x0001, 0x8001, 0x03ff, 0x83ff,
                                  0x0400, 0x07ff, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe01,
                                  0x7c01, 0xfd00, 0x3800, 0x3e00, 0x4100, 0x6400, 0x6401, 0x3bff};
const std::vector<u64> kWords64 = {0,
                                   1,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x100000000,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0x8000000000000001,
                                   0xffffffffffffffff,
                                   0xfffffffffffffffe,
                                   0x123456789abcdef0,
                                   0xdeadbeefcafef00d};
const std::vector<u64> kExponents = {0,          1,          0xffffffff, 10,        0xfffffff6,
                                     127,        0xffffff80, 150,        300,       0xfffffed4,
                                     0x7fffffff, 0x80000000, 1100,       0xfffffbb4};
const std::vector<u64> kShorts = {0,      1,      2,      0x7f,   0xff,   0x7ffe,
                                  0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff, 0x1234};

u64 mixed(u64 x) {  // splitmix64 (Steele, Lea, Flood 2014)
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

u64 element(const std::vector<u64>& edges, u64 seed, u64 mask) {
  const u64 r = mixed(seed);
  return r & 1 ? edges[(r >> 8) % edges.size()] : mixed(r) & mask;
}

// Random f32 of moderate exponent: uniform bits are mostly huge or tiny, and their sums lose one
// operand.
u64 moderate_float(u64 seed) {
  const u64 r = mixed(seed);
  return (r & 0x807fffffu) | ((100 + (r >> 32) % 56) << 23);
}
u64 moderate_double(u64 seed) {
  const u64 r = mixed(seed);
  return (r & 0x800fffffffffffffull) | ((1003 + mixed(r) % 41) << 52);
}

}  // namespace

const std::vector<u64>& interesting(Kind kind) {
  switch (kind) {
    case Kind::kF32:
      return kFloats;
    case Kind::kU64:
      return kWords64;
    case Kind::kF64:
      return kDoubles;
    case Kind::kU16:
      return kShorts;
    case Kind::kF16:
      return kHalves;
    case Kind::kShift:
      return kShifts;
    case Kind::kExp:
      return kExponents;
    default:
      return kWords;
  }
}

u64 draw(Kind kind, u64 seed) {
  const u64 pick = mixed(seed ^ 0x5bd1e995) % 3;
  switch (kind) {
    case Kind::kF32:
      return pick == 0 ? moderate_float(seed) : element(kFloats, seed, 0xffffffffu);
    case Kind::kF64:
      return pick == 0 ? moderate_double(seed) : element(kDoubles, seed, ~0ull);
    case Kind::kU64:
      return element(kWords64, seed, ~0ull);
    case Kind::kF16:
      return element(kHalves, seed, 0xffff) | (mixed(~seed) & 0xffff) << 16;
    case Kind::kU16:
      return element(kShorts, seed, 0xffff) | (mixed(~seed) & 0xffff) << 16;
    case Kind::kPk16:
      return element(kShorts, seed, 0xffff) | element(kShorts, ~seed, 0xffff) << 16;
    case Kind::kPkHalf:
      return element(kHalves, seed, 0xffff) | element(kHalves, ~seed, 0xffff) << 16;
    case Kind::kPkBf16:
      return draw(Kind::kF32, seed) >> 16 | (draw(Kind::kF32, ~seed) >> 16) << 16;
    case Kind::kPkF32:
      return draw(Kind::kF32, seed) | draw(Kind::kF32, ~seed) << 32;
    case Kind::kShift:
      return element(kShifts, seed, 0xff);
    case Kind::kExp:
      return element(kExponents, seed, 0xff);
    default:
      return element(kWords, seed, 0xffffffffu);
  }
}

}  // namespace attest::emulator::opcode_tests

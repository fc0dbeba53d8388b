// Hopper's tensor cores and asynchronous copies: one instruction a function, by the names and the
// sections of the PTX ISA. For device code that is compiled for sm_90a alone.
#pragma once
#include "kernels/device/bf16.hpp"
#include "kernels/device/gpu.hpp"

namespace gpu {

using SharedAddress = unsigned;  // of shared memory, in bytes
ATTEST_INLINE SharedAddress shared_address(const void* in_shared) {
  return static_cast<SharedAddress>(__cvta_generic_to_shared(in_shared));
}

// ---- "Data Movement: Non-bulk copy". 16 bytes of global memory to shared memory, or 16 zeros
// where they are not `present`: then nothing is read.
ATTEST_INLINE void copy_async(SharedAddress to, const void* from, bool present) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(to), "l"(from), "r"(present ? 16 : 0)
               : "memory");
}
ATTEST_INLINE void commit_copies() { asm volatile("cp.async.commit_group;" : : : "memory"); }
// Until all but the last kGroups groups of this thread have arrived.
template <int kGroups>
ATTEST_INLINE void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" : : "n"(kGroups) : "memory");
}

// ---- "Parallel Synchronization and Communication: barrier". Barriers 1..15 of a workgroup:
// `threads` of it, whole warps, take part; those that only arrive do not wait.
ATTEST_INLINE void wait_at(int barrier, int threads) {
  asm volatile("barrier.cta.sync.aligned %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}
ATTEST_INLINE void arrive_at(int barrier, int threads) {
  asm volatile("barrier.cta.arrive.aligned %0, %1;" : : "r"(barrier), "r"(threads) : "memory");
}

// ---- "Miscellaneous: setmaxnreg": registers of each thread of this warpgroup, from now on.
template <int kRegisters>
ATTEST_INLINE void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" : : "n"(kRegisters));
}
template <int kRegisters>
ATTEST_INLINE void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" : : "n"(kRegisters));
}

// ---- "Warp Level Matrix Multiply-Accumulate". An accumulator of m16n8: rows lane / 4 and 8 below
// it, columns 2 * (lane % 4) and the next, in the order (row, column), (row, next), (row + 8,
// column) ..
struct Fragment {
  Bits32 word[4];
};
// Four 8x8 matrices of 16-bit values; lane i gives the address of row i % 8 of matrix i / 8. A lane
// gets row lane / 4, columns 2 * (lane % 4) and the next, of each.
ATTEST_INLINE Fragment load_matrices(SharedAddress row) {
  Fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3])
               : "r"(row)
               : "memory");
  return f;
}
// The same of the transposed matrices.
ATTEST_INLINE Fragment load_transposed(SharedAddress row) {
  Fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(f.word[0]), "=r"(f.word[1]), "=r"(f.word[2]), "=r"(f.word[3])
               : "r"(row)
               : "memory");
  return f;
}
ATTEST_INLINE void add_product(float (&d)[4], const Fragment& a, Bits32 b0, Bits32 b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
      "{%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "r"(b0), "r"(b1));
}

// ---- "Asynchronous Warpgroup Level Matrix Instructions". A warpgroup is 4 warps; the accumulator
// of m64nN: warp w of it has rows 16 w .. as m16n8 has them, N / 8 of those side by side.
//
// A matrix in shared memory, of 128-byte rows whose 16-byte pieces are swizzled (piece ^ row % 8),
// in groups of 8 rows ("Shared Memory Matrix Layout", 128-byte swizzle). Strides in bytes.
//   K-major, row = one of M or N:   64 values of K in a row; group_stride to the next 8 of M or N
//   MN-major, row = one of K:       64 of N in a row, column_stride to the next 64; group_stride to
//   the
//                                   next 8 of K
ATTEST_INLINE unsigned long long matrix_descriptor(SharedAddress begin, unsigned column_stride,
                                                   unsigned group_stride) {
  constexpr unsigned long long kSwizzle128 = 1ull << 62;
  const auto field = [](unsigned bytes) {
    return static_cast<unsigned long long>(bytes & 0x3ffffu) >> 4;
  };
  return kSwizzle128 | field(group_stride) << 32 | field(column_stride) << 16 | field(begin);
}
// What this thread wrote to shared memory, by copies that it waited for or by stores, is there for
// the tensor cores after the next barrier.
ATTEST_INLINE void fence_for_tensor_cores() {
  asm volatile("fence.proxy.async.shared::cta;" : : : "memory");
}
ATTEST_INLINE void begin_products() { asm volatile("wgmma.fence.sync.aligned;" : : : "memory"); }
ATTEST_INLINE void commit_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" : : : "memory");
}
ATTEST_INLINE void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" : : : "memory");
}

// d [64, 64] (+)= A [64, 16] B [16, 64], both K-major in shared memory; `first`: d is set.
ATTEST_INLINE void add_product_64(float (&d)[32], unsigned long long a, unsigned long long b,
                                  bool first) {
  asm volatile(
      "{\n.reg .pred more;\nsetp.eq.b32 more, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,"
      "%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,"
      "%24,%25,%26,%27,%28,%29,%30,%31"
      "}, %32, %33, more, 1, 1, 0, 0;\n}"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
      : "l"(a), "l"(b), "r"(static_cast<int>(first))
      : "memory");
}
// d [64, 256] += A [64, 16] B [16, 256]: A in registers, as an accumulator's values are packed; B
// MN-major.
ATTEST_INLINE void add_product_256(float (&d)[128], const Fragment& a, unsigned long long b) {
  asm volatile(
      "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {"
      "%0,%1,%2,%3,%4,%5,%6,%7,"
      "%8,%9,%10,%11,%12,%13,%14,%15,"
      "%16,%17,%18,%19,%20,%21,%22,%23,"
      "%24,%25,%26,%27,%28,%29,%30,%31,"
      "%32,%33,%34,%35,%36,%37,%38,%39,"
      "%40,%41,%42,%43,%44,%45,%46,%47,"
      "%48,%49,%50,%51,%52,%53,%54,%55,"
      "%56,%57,%58,%59,%60,%61,%62,%63,"
      "%64,%65,%66,%67,%68,%69,%70,%71,"
      "%72,%73,%74,%75,%76,%77,%78,%79,"
      "%80,%81,%82,%83,%84,%85,%86,%87,"
      "%88,%89,%90,%91,%92,%93,%94,%95,"
      "%96,%97,%98,%99,%100,%101,%102,%103,"
      "%104,%105,%106,%107,%108,%109,%110,%111,"
      "%112,%113,%114,%115,%116,%117,%118,%119,"
      "%120,%121,%122,%123,%124,%125,%126,%127"
      "}, {%128,%129,%130,%131}, %132, 1, 1, 1, 1;"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
        "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
        "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
        "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
        "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
        "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
        "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
        "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
        "+f"(d[63]), "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]),
        "+f"(d[70]), "+f"(d[71]), "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]),
        "+f"(d[77]), "+f"(d[78]), "+f"(d[79]), "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
        "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), "+f"(d[88]), "+f"(d[89]), "+f"(d[90]),
        "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]), "+f"(d[96]), "+f"(d[97]),
        "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
        "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]),
        "+f"(d[110]), "+f"(d[111]), "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
        "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), "+f"(d[120]), "+f"(d[121]),
        "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
      : "r"(a.word[0]), "r"(a.word[1]), "r"(a.word[2]), "r"(a.word[3]), "l"(b)
      : "memory");
}

}  // namespace gpu

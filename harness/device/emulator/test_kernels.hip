// Kernels for the emulator's own tests: each shows one thing that a launch must do or report. The
// tests find the lines marked "here:" by their words.
#define KERNEL extern "C" __attribute__((global)) void
#define LDS __attribute__((shared))

using u32 = unsigned int;
using u16 = unsigned short;

static inline __attribute__((device, always_inline)) u32 thread_x() {
  return __builtin_amdgcn_workitem_id_x();
}
static inline __attribute__((device, always_inline)) u32 group_x() {
  return __builtin_amdgcn_workgroup_id_x();
}
static inline __attribute__((device, always_inline)) void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

// Element (x, y, z) of the grid's threads gets x | y << 10 | z << 20. No hidden argument is read.
KERNEL write_ids(u32* out, u32 block_x, u32 block_y, u32 block_z, u32 width, u32 height) {
  const u32 x = group_x() * block_x + thread_x();
  const u32 y = __builtin_amdgcn_workgroup_id_y() * block_y + __builtin_amdgcn_workitem_id_y();
  const u32 z = __builtin_amdgcn_workgroup_id_z() * block_z + __builtin_amdgcn_workitem_id_z();
  out[(z * height + y) * width + x] = x | y << 10 | z << 20;
}

// What the runtime tells a kernel: block counts, block sizes, remainders, dimensions.
KERNEL write_hidden(u32* out) {
  const auto* hidden = (const __attribute__((address_space(4))) char*)
      __builtin_amdgcn_implicitarg_ptr();
  const auto* counts = (const __attribute__((address_space(4))) u32*)hidden;
  const auto* halves = (const __attribute__((address_space(4))) u16*)hidden;
  for (int axis = 0; axis < 3; ++axis) {
    out[axis] = counts[axis];
    out[3 + axis] = halves[6 + axis];
    out[6 + axis] = halves[9 + axis];
  }
  out[9] = halves[32];
}

// Through the dispatch packet, as code before code object v5 reads its sizes.
KERNEL write_packet(u32* out) {
  const auto* packet = (const __attribute__((address_space(4))) u32*)__builtin_amdgcn_dispatch_ptr();
  for (int i = 0; i < 8; ++i) out[i] = packet[i];
}

KERNEL reverse_block(const u32* in, u32* out) {
  LDS u32 tile[256];
  tile[thread_x()] = in[group_x() * 256 + thread_x()];
  barrier();
  out[group_x() * 256 + thread_x()] = tile[255 ^ thread_x()];
}

extern LDS u32 dynamic_tile[];
KERNEL reverse_dynamic(const u32* in, u32* out, u32 count) {
  dynamic_tile[thread_x()] = in[thread_x()];
  barrier();
  out[thread_x()] = dynamic_tile[count - 1 - thread_x()];
}

// Odd lanes store to LDS and even ones to global memory through one generic pointer.
KERNEL store_generic(u32* out) {
  LDS u32 tile[64];
  tile[thread_x()] = 0;
  u32* volatile to = thread_x() % 2 ? (u32*)&tile[thread_x()] : out + thread_x();
  *to = thread_x() + 100;
  barrier();
  if (thread_x() % 2) out[thread_x()] = tile[thread_x()];
}

KERNEL sum_ids(u32* sum, u32 block_x) {
  __hip_atomic_fetch_add(sum, group_x() * block_x + thread_x(), __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
}

// Workgroup g's place in the order of the workgroups.
KERNEL take_tickets(u32* counter, u32* ticket) {
  if (thread_x() != 0) return;
  ticket[group_x()] =
      __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Each wave's place in the order of a workgroup's waves: a race, on purpose.
KERNEL take_wave_tickets(u32* counter, u32* ticket) {
  if (thread_x() % 64 != 0) return;
  for (u32 turn = 0; turn < 8; ++turn)
    ticket[thread_x() / 64 * 8 + turn] =
        __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

KERNEL store_at(u32* out, u32 index, u32 group, u32 thread) {
  if (group_x() == group && thread_x() == thread) {
    out[index] = 1;  // here: the store
  }
}

KERNEL load_at(const u32* in, u32* out, u32 index) {
  out[thread_x()] = in[index + thread_x()];  // here: the load
}

KERNEL store_lds_at(u32* out, u32 index) {
  LDS u32 tile[64];
  tile[index + thread_x()] = thread_x();
  barrier();
  out[thread_x()] = tile[63 ^ thread_x()];
}

KERNEL wait_for(volatile u32* flag) {
  while (*flag == 0) {
  }
}

// Relaxed atomics of one word: the compiler puts no wait around them, as it does around volatile.
static inline __attribute__((device, always_inline)) u32 peek(const u32* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
static inline __attribute__((device, always_inline)) void poke(u32* to, u32 value) {
  __hip_atomic_store(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

// Each workgroup waits for the one behind it; the last one waits for nobody.
KERNEL wait_for_next(u32* flags, u32 groups) {
  if (thread_x() != 0) return;
  if (group_x() + 1 < groups) {
    while (peek(flags + group_x() + 1) == 0) {
    }
  }
  poke(flags + group_x(), 1);
}

// Workgroup 0 has a message for all others. With `waits` it waits for its stores before it says so.
KERNEL pass_message(u32* message, u32* posted, u32* seen, u32 waits) {
  if (group_x() == 0) {
    poke(message + thread_x(), 7);
    if (waits) asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
    if (thread_x() == 0)
      __hip_atomic_fetch_add(posted, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  } else {
    while (peek(posted) == 0) {
    }
    seen[group_x() * 64 + thread_x()] = peek(message + thread_x());
  }
}

// Through global memory: what a thread stored itself, and what another wave of its workgroup did.
// Between waves the compiler waits for LDS alone, as the memory model allows.
KERNEL exchange(u32* cells, u32* own, u32* other) {
  const u32 base = group_x() * 128, at = base + thread_x();
  poke(cells + at, at);
  own[at] = peek(cells + at);
  barrier();
  other[at] = peek(cells + base + (127 ^ thread_x()));
}

// The same through a scalar load, without a wait for the store.
KERNEL scalar_sees_own_store(u32* cells, u32* seen) {
  u32* const mine = cells + group_x() * 64;
  poke(mine + thread_x(), 7);
  u32 value;
  asm volatile("s_load_dword %0, %1, 0x0\n\ts_waitcnt lgkmcnt(0)" : "=s"(value) : "s"(mine) : "memory");
  seen[group_x() * 64 + thread_x()] = value;
}

KERNEL trap_if(u32* out, u32 group) {
  out[group_x() * 64 + thread_x()] = 1;
  if (group_x() == group) __builtin_trap();  // here: the trap
}

// An instruction that the emulator does not have.
KERNEL absent_if(u32* out, u32 reach) {
  if (reach) {
    // here: the next line
    asm volatile("v_mqsad_pk_u16_u8 v[10:11], v[12:13], v14, v[16:17]" ::: "v10", "v11");
  }
  out[thread_x()] = 7;
}

KERNEL through_scratch(const u32* in, u32* out) {
  volatile u32 local[40];
  for (u32 i = 0; i < 40; ++i) local[i] = in[thread_x() * 40 + i];
  out[thread_x()] = local[thread_x() % 40] + local[39 - thread_x() % 40];
}

KERNEL add_one(u32* data) { data[group_x() * 64 + thread_x()] += 1; }

KERNEL multiply(const u32* in, u32* out, u32 factor) {
  out[thread_x()] = in[thread_x()] * factor;
}

__attribute__((device)) u32 primes[4] = {2, 3, 5, 7};
__attribute__((device)) u32 squares[4] = {1, 4, 9, 16};
// Pointers in the image: right only after relocation.
__attribute__((device)) u32* tables[2] = {primes, squares};
KERNEL look_up(u32* out) {
  if (thread_x() < 8) out[thread_x()] = tables[thread_x() / 4][thread_x() % 4];
}

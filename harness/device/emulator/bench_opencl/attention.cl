// One head of attention a workgroup of 128 work-items, in fp32: 64 columns, 64 tokens a tile, scores
// and sums through LDS. One source for Oclgrind, which runs OpenCL C, and for the emulator, which
// runs what clang makes of it for gfx942 (no device library: four builtins).
#ifdef __AMDGCN__
#define LOCAL_ID ((int)__builtin_amdgcn_workitem_id_x())
#define GROUP_ID ((int)__builtin_amdgcn_workgroup_id_x())
#define EXP2(x) __builtin_amdgcn_exp2f(x)
#define BARRIER()                                        \
  do {                                                   \
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); \
    __builtin_amdgcn_s_barrier();                        \
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup"); \
  } while (0)
#else
#define LOCAL_ID ((int)get_local_id(0))
#define GROUP_ID ((int)get_group_id(0))
#define EXP2(x) exp2(x)
#define BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#endif
#define COLUMNS 64
#define TILE 64

__kernel void attention(__global const float* q,  // [heads][64]
                        __global const float* k,  // [heads][tokens][64]
                        __global const float* v,  // [heads][tokens][64]
                        __global float* o,        // [heads][64]
                        int tokens) {             // a multiple of 64
  __local float query[COLUMNS];
  __local float half_dot[2 * TILE];
  __local float score[TILE];
  __local float half_o[2 * COLUMNS];
  const int me = LOCAL_ID, column = me & (COLUMNS - 1), part = me >> 6;  // by masks: Oclgrind does not know freeze
  __global const float* keys = k + (size_t)GROUP_ID * tokens * COLUMNS;
  __global const float* values = v + (size_t)GROUP_ID * tokens * COLUMNS;
  if (me < COLUMNS) query[me] = q[GROUP_ID * COLUMNS + me];
  float maximum = -1e30f, sum = 0, acc = 0;
  for (int first = 0; first < tokens; first += TILE) {
    BARRIER();
    // Two work-items a token, half of the columns each.
    float dot = 0;
    for (int c = 0; c < COLUMNS / 2; ++c)
      dot += query[part * 32 + c] * keys[(first + column) * COLUMNS + part * 32 + c];
    half_dot[me] = dot;
    BARRIER();
    if (me < TILE) score[me] = half_dot[me] + half_dot[me + TILE];
    BARRIER();
    float tile_maximum = maximum;
    for (int t = 0; t < TILE; ++t) tile_maximum = score[t] > tile_maximum ? score[t] : tile_maximum;
    const float scale = EXP2(maximum - tile_maximum);
    maximum = tile_maximum;
    sum *= scale;
    acc *= scale;
    // Two work-items a column, half of the tokens each.
    for (int t = part * 32; t < part * 32 + 32; ++t) {
      const float p = EXP2(score[t] - maximum);
      sum += p;
      acc += p * values[(first + t) * COLUMNS + column];
    }
  }
  half_dot[me] = sum;
  half_o[me] = acc;
  BARRIER();
  if (me < COLUMNS)
    o[GROUP_ID * COLUMNS + me] =
        (half_o[me] + half_o[me + COLUMNS]) / (half_dot[me] + half_dot[me + COLUMNS]);
}

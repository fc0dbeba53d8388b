# Stage 2 weighs the splits by the next head's lse.
# file: kernels/mla_decode/stage2.hpp
s/a.partial_lse\[row + static_cast<gpu::Int64>(split) \* a.h\]/a.partial_lse[row - row % a.h + (row + 1) % a.h + static_cast<gpu::Int64>(split) * a.h]/

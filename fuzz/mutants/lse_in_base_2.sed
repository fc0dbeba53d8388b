# Stage 2 stores lse as a base-2 logarithm.
# file: kernels/mla_decode/stage2.hpp
s/return max_ + gpu::log2_fast(sum_) \* gpu::kLn2;/return max_ * gpu::kLog2E + gpu::log2_fast(sum_);/

# Absent tokens of the last tile take the row after the last one; their weight stays 0, so no number is wrong.
# file: kernels/mla_decode/stage1.hpp
s/gpu::lane_index() % gpu::kTileTokens, p.end - 1)/gpu::lane_index() % gpu::kTileTokens, p.end)/

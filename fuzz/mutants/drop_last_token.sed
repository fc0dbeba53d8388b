# The last token of every sequence is dropped.
# file: kernels/mla_decode/stage1.hpp
s/gpu::min_of(split_end, gpu::min_of(query.s_kv, query.visible))/gpu::min_of(split_end, gpu::min_of(query.s_kv - 1, query.visible))/

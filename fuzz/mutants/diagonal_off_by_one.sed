# Each query token but the last sees one token too many.
# file: kernels/mla_decode/work.hpp
s/const int visible = s_kv - s_q + i + 1;/const int visible = s_kv - s_q + i + 2;/

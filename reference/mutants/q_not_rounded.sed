# file: reference/score.cpp
# a declared rounding of q is repeated
s/      if (plan_.scaled_q) value = decode_bf16(encode_bf16(value \* scaled_q_));/      if (plan_.scaled_q) value = value * scaled_q_;/

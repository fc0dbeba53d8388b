# file: reference/score.cpp
# a declared rounding of q is repeated
s/      if (plan.scaled_q) value = decode_bf16(encode_bf16(value \* scaled_q));/      if (plan.scaled_q) value = value * scaled_q;/

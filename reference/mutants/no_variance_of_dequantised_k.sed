# file: reference/error_bound.cpp
# T1, T2p: the variance of a dequantised K
s/  e.dot_variance += squared(a.k_relative) \/ 3;/  ;/

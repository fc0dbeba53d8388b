# file: reference/error_bound.cpp
# T1, T2p: the variance of exp2
s/  e.exp_variance = squared(a.exp_ulp \* 0x1p-23) \/ 3;/  e.exp_variance = 0;/

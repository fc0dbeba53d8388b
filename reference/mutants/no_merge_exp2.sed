# file: reference/error_bound.cpp
# the weights of the merge, by exp2
s/         a.exp_ulp \* 0x1p-23 \* (1 + live);/         0 * live;/

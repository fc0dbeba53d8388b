# file: reference/error_bound.cpp
# exp2 is exact
s/  e.weight_rescale = a.exp_ulp \* 0x1p-23;/  e.weight_rescale = 0;/

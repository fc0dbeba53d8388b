# file: reference/error_bound.cpp
# a matrix unit that truncates has no bias
s/  e.accumulate_bias = sum.bias \* kU;/  e.accumulate_bias = 0;/

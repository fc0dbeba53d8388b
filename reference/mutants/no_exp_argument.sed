# file: reference/error_bound.cpp
# the argument of exp2 is exact
s/  e.exp_argument = 5 \* kU;/  e.exp_argument = 0;/

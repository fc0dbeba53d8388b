# file: reference/error_bound.cpp
# the argument of a merge weight is exact
s/ + 4 \* kU \* lse_below_largest +/ + 0 * lse_below_largest +/

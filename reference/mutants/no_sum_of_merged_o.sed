# file: reference/error_bound.cpp
# the merge sums o exactly
s/return kU \* (each \* live + 3 + a.divide_u);/return 0 * (each * live + a.divide_u);/

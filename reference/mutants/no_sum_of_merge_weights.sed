# file: reference/error_bound.cpp
# weights of a merge are summed exactly
s/return kU \* (2 \* live + 1);/return 0 * live;/

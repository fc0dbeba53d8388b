# file: reference/error_bound.cpp
# the lse of a merge is rounded
s/ + 3 \* std::fabs(lse));/ + 0 * lse);/

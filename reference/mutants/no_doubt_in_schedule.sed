# file: reference/schedule.cpp
# rounding may decide whether a lazy max moves
s/      split.ambiguous\[r\] |= unsure \&\& !raises;/      ;/

# file: reference/merge.cpp
# products below 2^-126 are flushed, in each split
s/    floor += share \* floor_of(s, d);/    ;/

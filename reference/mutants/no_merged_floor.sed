# file: reference/merge.cpp
# products below 2^-126 are flushed, in each split
s/    floor += share \* s.tokens \* (0x1p-126 + 0x1p-149 \* s.largest_v\[d\]);/    ;/

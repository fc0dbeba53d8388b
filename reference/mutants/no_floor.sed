# file: reference/finish_split.cpp
# products below 2^-126 are flushed
s/    const double floor = s.tokens \* (0x1p-126 + 0x1p-149 \* s.largest_v\[d\]);/    const double floor = 0;/

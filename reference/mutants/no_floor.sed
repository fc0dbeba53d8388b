# file: reference/finish_split.cpp
# products below 2^-126 are flushed
s/    const double floor = floor_of(s, d);/    const double floor = 0;/

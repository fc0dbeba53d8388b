# file: reference/finish_split.cpp
# fp32 partial results accumulate as chance has it
s/      probable += s.accumulates \* s.probable.weighted\[d\] \/ s.least_linear;/      probable += 0;/

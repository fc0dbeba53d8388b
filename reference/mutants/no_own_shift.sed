# file: reference/weighing.hpp
# T2: the reference's own fp32 sums of w pi v
s/ = magnitude(g.pi) \* kOwnShift;/ = 0.0 * g.pi;/

# file: reference/error_bound.cpp
# T1: rounding to nearest has a mean of second order
s/0 : squared(spacing \/ 2) \/ 3;/0 : 0;/

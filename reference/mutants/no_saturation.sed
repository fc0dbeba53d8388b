# file: reference/error_bound.cpp
# P never saturates
s/1 - a.p_largest \/ largest_p : 0;/0.0 : 0;/

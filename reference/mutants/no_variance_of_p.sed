# file: reference/error_bound.cpp
# T1: P is rounded exactly
s/    e.p_variance = squared(spacing) \/ 12;/    e.p_variance = 0;/

# file: reference/error_bound.cpp
# a subnormal P is off by half a spacing, or a whole one where it truncates
s/  e.p_absolute = e.p_relative \* e.p_min_normal;/  e.p_absolute = e.p_relative * e.p_min_normal \/ 2;/

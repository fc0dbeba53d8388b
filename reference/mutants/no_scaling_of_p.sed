# file: reference/error_bound.cpp
# a p_scale that is no power of two costs nothing
s/ == a.p_scale ? 0 : 2;/ == a.p_scale ? 0 : 0;/

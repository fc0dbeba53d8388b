# file: reference/error_bound.cpp
# T1: truncation has no mean
s/a.p_truncates ? spacing \/ 2/a.p_truncates ? 0.0/

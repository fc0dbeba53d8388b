# file: reference/error_bound.cpp
# half of the rounding of P
s/a.p_truncates ? 1 - a.p_bits : -a.p_bits/a.p_truncates ? -a.p_bits : -a.p_bits - 1/

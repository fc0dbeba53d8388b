# file: reference/finish_split.cpp
# T2 of a split whose max rounding decides is T0 and the shift
s/s.ambiguous ? t0 + std::fabs(shift) : s.rigorous.radius\[d\];/s.rigorous.radius[d];/

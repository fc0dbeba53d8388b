# file: reference/finish_split.cpp
# a denominator of rounded P keeps most of its P
s/  if (e.l_from_rounded_p) s.worst_exponent += s.log_l - std::log1p(-e.p_saturation);/  ;/

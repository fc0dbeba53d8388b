# file: reference/error_bound.cpp
# a stored lse is m times an exact factor
s/  const double of_factor = kU \* logit_descales \* std::fabs(max);/  const double of_factor = 0;/

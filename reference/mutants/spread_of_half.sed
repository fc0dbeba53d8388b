# file: reference/score.cpp
# the error of a dot product is over the sum of all |products|
s/  const double spread_scale = std::fabs(scale) \* kInflate;/  const double spread_scale = std::fabs(scale) * kInflate * 0.5;/

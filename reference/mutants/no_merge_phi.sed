# file: reference/merge.cpp
# a split has its exact share
s/    s.phi = std::expm1(std::min(exponent, 700.0));/    s.phi = 0;/

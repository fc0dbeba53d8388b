# file: reference/merge.cpp
# variances of splits vanish in the merge
s/  error += kLambda \* (std::sqrt(variance) + std::fabs(o) \* std::sqrt(m.variance_o));/  ;/

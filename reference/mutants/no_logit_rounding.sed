# file: reference/error_bound.cpp
# dot times scale is not rounded
s/  e.logit = kU;/  e.logit = 0;/

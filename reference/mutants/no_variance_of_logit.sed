# file: reference/error_bound.cpp
# T1, T2p: the variance of a rounded logit
s/  e.logit_variance = squared(kU) \/ 3;/  e.logit_variance = 0;/

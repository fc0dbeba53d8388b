# file: reference/error_bound.cpp
# T1, T2p: the variance of a score times descale factors
s/  e.logit_variance += descales.of_logit \* squared(kU) \/ 3;/  ;/

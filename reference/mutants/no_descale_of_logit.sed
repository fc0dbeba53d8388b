# file: reference/error_bound.cpp
# the multiplications of scores by descale factors of fp8 are exact
s/  e.logit += of_logit;/  ;/

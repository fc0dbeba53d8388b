# file: reference/error_bound.cpp
# the factor of all scores holds descale factors exactly
s/  e.exp_argument += of_logit;/  ;/

# file: reference/error_bound.cpp
# the weights of the merge read a stored lse
s/  return stored_lse_error(a, max, log_l, logit_descales) + 4/  return 4/

# file: reference/finish_split.cpp
# the denominator of T2p is summed exactly
s/kLambda \* chance + alike);/0 * chance + alike);/

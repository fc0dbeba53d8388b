# file: reference/merge.cpp
# the shares of a merge are in its denominator
s/ \* (1 + s.phi) + s.phi);/ * (1 + s.phi));/

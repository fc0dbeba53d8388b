# file: reference/merge.cpp
# errors of a split grow with the error of its share
s/    const double grown = share \* (1 + s.phi), /    const double grown = share, /

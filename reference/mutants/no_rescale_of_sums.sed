# file: reference/error_bound.cpp
# each rescale rounds l
s/  e.denominator_rescale = kU;/  e.denominator_rescale = 0;/

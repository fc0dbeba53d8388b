# file: reference/error_bound.cpp
# the multiplication of o by its descale factor is exact
s/  e.accumulate += e.accumulate_rescale \* descales.of_o;/  ;/

# file: reference/weighing.hpp
# T1 with l of rounded P: their variance is in l too
s/    sum_\[kSquareOfP\] += g.squared_w \* of_p;/    ;/

# file: reference/weighing.hpp
# T1: a P beyond the largest saturates
s/splat(e_.p_bias), splat(e_.p_saturation));/splat(e_.p_bias), Reals{});/

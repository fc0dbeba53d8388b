# file: reference/weighing.hpp
# T1: a subnormal P is off by its worst case
s/larger(subnormal ? rho : splat(e_.p_bias), /larger(splat(e_.p_bias), /

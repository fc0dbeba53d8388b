# file: reference/weighing.hpp
# T0: P below the least normal has a relative error
s/smaller(e_.p_absolute \/ p, splat(1.0));/splat(e_.p_relative);/

# file: reference/weighing.hpp
# T2: P times a p_scale that is no power of two is rounded, and that may carry it over a boundary
s/ \* g.below_tile + e_.p_scaling;/ * g.below_tile;/

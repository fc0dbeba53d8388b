# file: reference/weighing.hpp
# T2: so may exp2
s/tile_off_ + common + e_.weight_exp);/tile_off_ + common);/

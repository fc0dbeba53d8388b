# file: reference/weighing.hpp
# T2: so may the error of the max in force
s/flips(g, t.off + tile_off_ + common/flips(g, t.off + common/

# file: reference/weighing.hpp
# T2p: the error of the max in force may carry P over a boundary
s/square_root(g.variance) + tile_off_p_ + common);/square_root(g.variance) + common);/

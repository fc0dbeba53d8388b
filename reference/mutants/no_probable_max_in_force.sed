# file: reference/weighing.hpp
# T2p: the max in force is exact
s/    sum_\[kOfMax\] += t.w \* growth(tile_off_p_);/    sum_[kOfMax] += t.w * 0.0;/

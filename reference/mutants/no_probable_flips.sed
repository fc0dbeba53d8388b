# file: reference/weighing.hpp
# T2p: P always rounds as the exact one does
s/likely ? flip_p \* flip_p \* 0.25 : Reals{}, to);/likely ? flip_p * 0 : Reals{}, to);/

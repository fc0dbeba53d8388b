# file: reference/weigh.cpp
# T2p: P always rounds as the exact one does
s/likely ? flip_p \* flip_p \* 0.25 : Double8{});/likely ? flip_p * 0 : Double8{});/

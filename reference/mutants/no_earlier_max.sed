# file: reference/schedule.cpp
# a tile rounds P at its own max
s/    max = std::max(max, tile.max\[r\]);/    max = tile.max[r];/

# file: reference/schedule.cpp
# the max in force is exact
s/    tile.high\[r\] = max == kNone ? 0 : high - max;/    tile.high[r] = 0;/

# file: reference/merge.cpp
# the top token of each split weighs |v - o| of the merge
s/(t.weighted\[d\] + t.top \* of_top)/(t.weighted[d])/

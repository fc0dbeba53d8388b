# file: reference/merge.cpp
# T2 of a merge with such a split is T0 and the shift
s/      if (!unsure) limit = /      limit = /

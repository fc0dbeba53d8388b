# file: reference/finish_split.cpp
# the top token weighs |v - o|
s/    double error = tier.weighted\[d\] + size \* of_o + tier.top \* of_top;/    double error = tier.weighted[d] + size * of_o;/

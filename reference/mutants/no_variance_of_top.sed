# file: reference/finish_split.cpp
# T1, T2p: the top token weighs |v - o|
s/sqrt(tier.variance\[d\] + tier.variance_top \* of_top \* of_top)/sqrt(tier.variance[d])/

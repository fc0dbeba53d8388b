# file: reference/weighing.hpp
# T1, T2p: the mean of e^d - 1 is common to all tokens
s/    g.kappa += g.wild ? Reals{} : g.variance;/    ;/

# file: reference/weighing.hpp
# T1, T2p: a weight below 2^-126 may be flushed, whatever its V
s/    g.kappa = t.flushed ? larger(g.kappa, splat(1.0)) : g.kappa;/    ;/

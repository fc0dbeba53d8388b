# file: reference/weighing.hpp
# exp2 never flushes
s/  t.theta = t.flushed ? larger(grown, splat(1.0)) : grown;/  t.theta = grown;/

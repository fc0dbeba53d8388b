# file: reference/weighing.hpp
# equal summands round independently
s/c_.accumulates_p \* square_root(g.repeats)/c_.accumulates_p/

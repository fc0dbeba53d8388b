# file: reference/error_bound.cpp
# probable errors of Q.K are half
s/dot.roundings > 0 ? dot.roundings \* squared(kU) \/ 3/dot.roundings > 0 ? dot.roundings * squared(kU) \/ 12/

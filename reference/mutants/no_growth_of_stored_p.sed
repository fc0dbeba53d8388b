# file: reference/weighing.hpp
# T0: P.V sums P as it is rounded
s/ \* (1 + rho) \* c_.accumulates + / * c_.accumulates + /

# file: reference/weighing.hpp
# T2: P always rounds as the exact one does
s/    const Reals alone = (1 + theta) \* (flip + c_.accumulates \* (grows + flip)) + own;/    const Reals alone = (1 + theta) * c_.accumulates * grows + own;/

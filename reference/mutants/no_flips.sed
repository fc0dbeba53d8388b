# file: reference/weigh.cpp
# T2: P always rounds as the exact one does
s/    const Double8 alone = (1 + theta) \* (flip + c_.accumulates \* (grows + flip)) + own;/    const Double8 alone = (1 + theta) * c_.accumulates * grows + own;/

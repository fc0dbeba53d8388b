# file: reference/weighing.hpp
# e^d - 1 is d
s/kWild = 1e-4, kTail = 1.1;/kWild = 1e-4, kTail = 1.0;/

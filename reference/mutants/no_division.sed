# file: reference/error_bound.cpp
# the division of o is exact
s/joins + a.divide_u + scalings/joins + scalings/

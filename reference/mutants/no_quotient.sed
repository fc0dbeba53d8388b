# file: reference/finish_split.cpp
# the error of l multiplies that of the quotient
s/  const double quotient = 1 - probable_denominator(tier);/  const double quotient = 1;/

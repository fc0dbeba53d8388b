# file: reference/finish_split.cpp
# T2 with l of rounded P: a P that rounds the other way is in l too
s/  const double flips = lr ? sum(kFlip) : 0;/  const double flips = 0;/

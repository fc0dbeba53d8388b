# file: reference/schedule.cpp
# a lazy max moves with every tile
s/  const double threshold = a.lazy_rescale \* kLn2;/  const double threshold = 0 * a.lazy_rescale;/

# file: reference/error_bound.cpp
# waves are joined exactly
s/  const int joins = waves ? a.waves_per_split + 1 : 0;/  const int joins = 0;/

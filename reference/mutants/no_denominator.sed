# file: reference/error_bound.cpp
# the denominator is summed exactly
s/  e.denominator = kU \* (std::min(a.tile_tokens, split_tokens) + tiles + joins);/  e.denominator = kU * joins;/

# file: reference/error_bound.cpp
# a score may lie above a lazy max, by its threshold
s/ + 2 \* e.exp_argument \* a.lazy_rescale \* kLn2;/;/

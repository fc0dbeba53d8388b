# file: reference/error_bound.cpp
# weights of a division-free merge sum to one
s/kU \* (4 \* std::fabs(lse) + sizes/kU * (0 * std::fabs(lse) + 0 * sizes/

# file: reference/error_bound.cpp
# m ln2 is exact in a stored lse
s/kU \* (4 \* std::fabs(max) + 2 \* std::fabs(log_l)/kU * (2 * std::fabs(log_l)/

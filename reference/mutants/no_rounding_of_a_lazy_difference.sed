# file: reference/schedule.cpp
# the difference to a lazy max is rounded too
s/                         8 \* kU \* (std::fabs/                         0 * kU * (std::fabs/

# file: reference/merge.cpp
# a division-free merge: weights that do not sum to one multiply the errors too
s/ + m.sum_is_not_one \* (divided + std::fabs(o));/ + m.sum_is_not_one * std::fabs(o);/

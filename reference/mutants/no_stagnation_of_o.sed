# file: reference/finish_split.cpp
# small summands of o round independently
s/value \*= 1 + worst \/ s.least_linear;/value *= 1 + 0 * worst;/

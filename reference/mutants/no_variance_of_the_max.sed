# file: reference/weighing.hpp
# T2p: a rounded P has at least the variance of the max in force
s/(a_.declared ? larger(of_score, of_max \* of_max) : of_score)/of_score/

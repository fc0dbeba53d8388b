# file: reference/error_bound.cpp
# half of the accumulation of Q.K
s/e.dot = accumulation_steps(a.matrix_unit, kDQk) \* kU/e.dot = accumulation_steps(a.matrix_unit, kDQk) * kU \/ 2/

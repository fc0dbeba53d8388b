# file: reference/error_bound.cpp
# half of the accumulation of P.V
s/(accumulation_steps(a.matrix_unit, split_tokens) + 2 +/(accumulation_steps(a.matrix_unit, split_tokens) \/ 2 + 2 +/

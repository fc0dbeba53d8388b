# file: reference/weighing.hpp
# T1, T2p: the rounding of x - m, and of exp2
s/                 e_.logit_variance \* g.below_tile \* g.below_tile + e_.exp_variance;/                 e_.exp_variance;/

# file: reference/weighing.hpp
# T2: so may the argument of exp2
s/common = e_.exp_argument \* g.below_tile/common = 0.0 * g.below_tile/

# file: reference/weighing.hpp
# nothing is common to many tokens
s/    g.kappa = e_.exp_argument \* t.below + c_.coherent;/    g.kappa = Reals{};/

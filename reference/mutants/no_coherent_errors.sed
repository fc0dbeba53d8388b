# file: reference/weigh.cpp
# nothing is common to many tokens
s/    g.kappa = e_.exp_argument \* t.below + c_.coherent;/    g.kappa = Double8{};/

# file: reference/schedule.cpp
# where other heads decide too, a lazy max may rise to a tile below an earlier one
s/        a.lazy_rescale > 0 \&\& a.lazy_heads > 1$/        false/

# file: reference/weighing.hpp
# T2: P of the max in force is p_scale, exactly
s/        t.x == tile_max_ ? splat(a_.p_scale) : smaller/        smaller/

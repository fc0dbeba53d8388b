# file: reference/weighing.hpp
# a rounded P has the error of its own score
s/growth(smaller(larger(t.off, tile_off_) + /growth(smaller(t.off + /

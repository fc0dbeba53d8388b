# file: reference/weighing.hpp
# equal scores err independently
s/    g.squared_w = t.w \* t.w \* g.repeats;/    g.squared_w = t.w * t.w;/

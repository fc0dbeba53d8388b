# file: reference/finish_split.cpp
# what is wrong with l multiplies |o|
s/ + size \* of_o + / + /

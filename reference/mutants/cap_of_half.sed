# file: reference/finish_split.cpp
# |o| of any kernel is at most the largest |v|, and what its sums add
s/  s.cap_factor = 1 + 2 \*/  s.cap_factor = 0.5 + 2 */

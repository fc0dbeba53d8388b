# file: reference/repeats.cpp
# T1: coherence bins are half as wide
s/std::min(a.p_bits, 12) + 2)/std::min(a.p_bits, 12) + 3)/

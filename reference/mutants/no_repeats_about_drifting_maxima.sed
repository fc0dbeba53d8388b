# file: reference/repeats.cpp
# T1: tiles may round P alike about maxima that drift
s/std::max(scores.count(x), differences.count(x - max)));/scores.count(x));/

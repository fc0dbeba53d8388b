# Stage 2 starts at split 1.
# file: kernels/mla_decode/stage2.hpp
s/for (int first = 0; first < live; /for (int first = 1; first < live; /

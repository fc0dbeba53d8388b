# file: reference/reference.cpp
# what a tier is about is kept as a shift in fp32
s/radius\[i\] + own \* 0x1p-24)/radius[i])/

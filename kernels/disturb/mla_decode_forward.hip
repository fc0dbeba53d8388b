// mla_decode whose workgroups are held back: kernels/device/arrival.hpp says how.
#define ATTEST_FORCED_ARRIVAL 1
#include "kernels/mla_decode/mla_decode.hip"

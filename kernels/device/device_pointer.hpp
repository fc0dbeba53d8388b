// A pointer in the arguments of a kernel: what the device reads it through, and the address that the
// host writes.
#pragma once

namespace attest {

#if defined(__HIP__) || defined(__CUDACC__)
template <class T>
using DevicePointer = T*;
#else
template <class T>
using DevicePointer = unsigned long long;
#endif

}  // namespace attest

// The table of a driver's calls against the vendors' own headers and libraries, where they are
// installed. No GPU is needed.
#include "harness/device/gpu/driver.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>

#if ATTEST_HAS_CUDA_HEADER
#include <cuda.h>
#endif
#if ATTEST_HAS_HIP
#include <hip/hip_runtime_api.h>
#endif

namespace attest::gpu_driver {
namespace {

// What a type is to the calling convention. Vendors' handles are pointers to structures of theirs,
// or numbers; ours are void* or numbers: all are words of 8 bytes. An enumeration is an int. A
// pointer to a number stays one, so that what a call writes has its size.
template <class T, class = void>
struct ShapeOf;
template <class T>
using Shape = typename ShapeOf<std::remove_cv_t<T>>::Type;
template <class T>
struct ShapeOf<T, std::enable_if_t<std::is_enum_v<T> || std::is_integral_v<T>>> {
  using Type = std::conditional_t<sizeof(T) == 8, std::uint64_t,
                                  std::conditional_t<sizeof(T) == 4, std::int32_t, T>>;
};
template <>
struct ShapeOf<float> {
  using Type = float;
};
template <class T>
struct ShapeOf<T*, std::enable_if_t<std::is_class_v<T> || std::is_void_v<T>>> {
  using Type = std::uint64_t;
};
template <class T>
struct ShapeOf<T*, std::enable_if_t<!std::is_class_v<T> && !std::is_void_v<T>>> {
  using Type = Shape<T>*;
};
template <class R, class... P>
struct ShapeOf<R(P...)> {
  using Type = Shape<R>(Shape<P>...);
};

template <class Ours>
struct SignatureOf;
template <class Signature>
struct SignatureOf<Call<Signature>> {
  using Type = Signature;
};
template <class Ours, class Theirs>
inline constexpr bool kSameShape =
    std::is_same_v<Shape<typename SignatureOf<Ours>::Type>, Shape<std::remove_reference_t<Theirs>>>;

static_assert(std::is_same_v<Shape<int(void**, const char*)>, int(std::uint64_t*, char*)>);
static_assert(!std::is_same_v<Shape<int(std::size_t*)>, Shape<int(unsigned*)>>);

#if ATTEST_HAS_CUDA_HEADER
#define ATTEST_CALL(member, cuda, hip) \
  static_assert(kSameShape<decltype(Driver::member), decltype(*cuda)>, #cuda);
#define ATTEST_OPTIONAL_CALL ATTEST_CALL
#define ATTEST_CUDA_CALL(member, cuda) ATTEST_CALL(member, cuda, )
#if CUDA_VERSION >= 12040
#define ATTEST_OPTIONAL_CUDA_CALL ATTEST_CUDA_CALL
#else
#define ATTEST_OPTIONAL_CUDA_CALL(member, cuda)
#endif
#include "harness/device/gpu/driver_calls.inc"
#undef ATTEST_CALL
#undef ATTEST_OPTIONAL_CALL
#undef ATTEST_CUDA_CALL
#undef ATTEST_OPTIONAL_CUDA_CALL
static_assert(sizeof(AllocationProperties) == sizeof(CUmemAllocationProp) &&
              offsetof(AllocationProperties, location) == offsetof(CUmemAllocationProp, location) &&
              offsetof(AllocationProperties, flags) == offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(AccessDescription) == sizeof(CUmemAccessDesc) &&
              offsetof(AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED &&
              MemoryLocation{}.type == CU_MEM_LOCATION_TYPE_DEVICE &&
              AccessDescription{}.flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16 &&
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 &&
              CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(kNotReady == CUDA_ERROR_NOT_READY && kInvalidValue == CUDA_ERROR_INVALID_VALUE &&
              kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
#endif

#if ATTEST_HAS_HIP
// Two names are those of templates too.
constexpr hipError_t (*kHipMalloc)(void**, std::size_t) = hipMalloc;
constexpr hipError_t (*kHipHostMalloc)(void**, std::size_t, unsigned) = hipHostMalloc;
#define hipMalloc kHipMalloc          // NOLINT(readability-identifier-naming)
#define hipHostMalloc kHipHostMalloc  // NOLINT(readability-identifier-naming)
#define ATTEST_CALL(member, cuda, hip) \
  static_assert(kSameShape<decltype(Driver::member), decltype(*hip)>, #hip);
#define ATTEST_OPTIONAL_CALL ATTEST_CALL
#define ATTEST_CUDA_CALL(member, cuda)
#define ATTEST_OPTIONAL_CUDA_CALL(member, cuda)
#include "harness/device/gpu/driver_calls.inc"
#undef hipMalloc
#undef hipHostMalloc
static_assert(std::is_same_v<Shape<decltype(hipSetDevice)>, Shape<Code(int)>> &&
              std::is_same_v<Shape<std::remove_reference_t<decltype(*hipGetErrorName)>>,
                             Shape<const char*(Code)>>);
#if HIP_VERSION_MAJOR >= 6
static_assert(sizeof(AllocationProperties) == sizeof(hipMemAllocationProp) &&
              offsetof(AllocationProperties, location) == offsetof(hipMemAllocationProp, location));
#endif
static_assert(sizeof(AccessDescription) == sizeof(hipMemAccessDesc) &&
              offsetof(AccessDescription, flags) == offsetof(hipMemAccessDesc, flags));
static_assert(kNotReady == hipErrorNotReady && kInvalidValue == hipErrorInvalidValue &&
              kOutOfMemory == hipErrorOutOfMemory);
static_assert(offsetof(hipDeviceProp_t, gcnArchName) > sizeof(hipDeviceProp_t::name) &&
              sizeof(hipDeviceProp_t) < 16384);

static_assert(hipDeviceAttributeMultiprocessorCount == 63);

TEST(HipDriver, HasEveryCallAndSaysWhatItsRuntimeSays) {
  const Code code = hipInit(0);
  const auto driver = hip_driver();
  EXPECT_EQ(driver.ok(), code == 0);
  if (driver.ok()) {
    EXPECT_TRUE((*driver)->launch.is_there());
    return;
  }
  EXPECT_EQ(driver.trouble().kind, TroubleKind::kInfra);
  const std::string& text = driver.trouble().text;
  EXPECT_NE(text.find("libamdhip64.so"), std::string::npos) << text;
  EXPECT_NE(text.find(std::string("hipInit: ") + hipGetErrorName(static_cast<hipError_t>(code))),
            std::string::npos)
      << text;
}
#else
TEST(HipDriver, HasEveryCallAndSaysWhatItsRuntimeSays) {
  GTEST_SKIP() << "HIP is not here to compare with: Debian's libamdhip64-dev";
}
#endif

TEST(CudaDriver, IsThereOrSaysWhatIsMissing) {
  const auto driver = cuda_driver();
  if (driver.ok()) {
    EXPECT_GE((*driver)->version, 12000);
    return;
  }
  EXPECT_EQ(driver.trouble().kind, TroubleKind::kInfra);
  EXPECT_NE(driver.trouble().text.find("libcuda.so.1"), std::string::npos) << driver.trouble().text;
}

TEST(DriverErrors, FaultsAreThoseThatNoLaterCallSurvives) {
  for (const Code fault : {214, 700, 702, 710, 714, 715, 716, 717, 718, 719}) {
    EXPECT_TRUE(is_fault(fault)) << fault;
  }
  for (const Code other : {0, 1, 2, 9, 200, 500, 600, 701, 900}) EXPECT_FALSE(is_fault(other));
}

}  // namespace
}  // namespace attest::gpu_driver

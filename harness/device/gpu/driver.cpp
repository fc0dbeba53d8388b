#include "harness/device/gpu/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

namespace attest::gpu_driver {
namespace {

Trouble infra(std::string text) { return {TroubleKind::kInfra, std::move(text)}; }

// What a vendor's library has under which names.
class Library {
 public:
  // The first of them that is here. It stays loaded: a driver's own allocations would be leaked
  // each time it is closed.
  explicit Library(const std::vector<const char*>& names) {
    for (const char* name : names) {
      handle_ = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
      name_ = name;
      if (handle_ != nullptr) return;
    }
  }
  bool is_there() const { return handle_ != nullptr; }
  const char* name() const { return name_; }
  template <class F>
  void find(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(dlsym(handle_, name));
  }
  // Fills the table; the first name that is missing, or nothing.
  std::string fill(Driver& driver, bool is_cuda) const {
    std::string missing;
    const auto find_call = [&](auto& call, const char* name, bool is_optional) {
      call.name = name;
      find(call.function, name);
      if (!call.is_there() && !is_optional && missing.empty()) missing = name;
    };
#define ATTEST_CALL(member, cuda, hip) find_call(driver.member, is_cuda ? #cuda : #hip, false);
#define ATTEST_OPTIONAL_CALL(member, cuda, hip) \
  find_call(driver.member, is_cuda ? #cuda : #hip, true);
#define ATTEST_CUDA_CALL(member, cuda) \
  if (is_cuda) find_call(driver.member, #cuda, false);
#define ATTEST_OPTIONAL_CUDA_CALL(member, cuda) \
  if (is_cuda) find_call(driver.member, #cuda, true);
#include "harness/device/gpu/driver_calls.inc"
    return missing;
  }

 private:
  void* handle_ = nullptr;
  const char* name_ = "";
};

// The driver's own: whether it finds what it drives.
Result<Driver> started(Driver driver) {
  if (const Code code = driver.init(0); code != 0) {
    return infra(driver.library + ": " + error_text(driver, driver.init.name, code));
  }
  driver.get_version(&driver.version);
  return driver;
}

// CUDA.

struct CudaNames {
  Code (*error_name)(Code, const char**);
  Code (*error_string)(Code, const char**);
  Code (*attribute)(int*, int, int);
};
CudaNames cuda_names{};

void describe_cuda(Code code, const char** name, const char** text) {
  if (cuda_names.error_name(code, name) != 0) *name = nullptr;
  if (cuda_names.error_string(code, text) != 0) *text = nullptr;
}

Result<std::string> cuda_architecture(const Driver& driver, int device) {
  constexpr int kMajor = 75, kMinor = 76;  // CUdevice_attribute
  int major = 0, minor = 0;
  Code code = cuda_names.attribute(&major, kMajor, device);
  if (code == 0) code = cuda_names.attribute(&minor, kMinor, device);
  if (code != 0) return infra(error_text(driver, "cuDeviceGetAttribute", code));
  return fmt::format("sm_{}{}", major, minor);
}

Code count_cuda_processors(int* count, int device) {
  constexpr int kProcessors = 16;  // CUdevice_attribute
  return cuda_names.attribute(count, kProcessors, device);
}

Result<Driver> load_cuda() {
  // Kernels that are loaded when they are first launched wait for those that run: two that wait for
  // each other would never end. CUDA Programming Guide, "Lazy Loading", "Concurrent Execution".
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  const Library library({"libcuda.so.1"});
  if (!library.is_there()) {
    return infra(fmt::format("{} was not found: install NVIDIA's driver", library.name()));
  }
  Driver driver{};
  driver.vendor = "cuda";
  driver.in_turn = "CUDA_LAUNCH_BLOCKING=1";
  driver.library = library.name();
  std::string missing = library.fill(driver, true);
  library.find(cuda_names.error_name, "cuGetErrorName");
  library.find(cuda_names.error_string, "cuGetErrorString");
  library.find(cuda_names.attribute, "cuDeviceGetAttribute");
  if (!missing.empty()) {
    return infra(fmt::format("{} has no {}: a driver of CUDA 12 or newer is needed", driver.library,
                             missing));
  }
  driver.describe = describe_cuda;
  driver.processors = count_cuda_processors;
  driver.architecture = cuda_architecture;
  return started(std::move(driver));
}

// HIP.

struct HipNames {
  const char* (*error_name)(Code);
  const char* (*error_string)(Code);
  Code (*set_device)(int);
  Code (*attribute)(int*, int, int);
  Code (*properties)(void*, int);
};
HipNames hip_names{};

void describe_hip(Code code, const char** name, const char** text) {
  *name = hip_names.error_name(code);
  *text = hip_names.error_string(code);
}

// HIP knows a current device, no contexts: a device's index, plus one, stands for its context.
Code retain_hip_device(void** context, int device) {
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return 0;
}
Code set_hip_device(void* context) {
  return hip_names.set_device(static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - 1));
}

// hipDeviceProp_t is laid out anew in each major release, and holds what we want as text, behind
// the device's name of 256 bytes: "gfx942:sramecc+:xnack-".
Result<std::string> hip_architecture(const Driver& driver, int device) {
  constexpr std::size_t kNameBytes = 256;
  std::array<char, 16384> properties{};  // release 5: 792 bytes, 6: 1,472
  if (const Code code = hip_names.properties(properties.data(), device); code != 0) {
    return infra(error_text(driver, "hipGetDeviceProperties", code));
  }
  const std::string_view all{properties.data(), properties.size()};
  const std::size_t begin = all.find("gfx", kNameBytes);
  if (begin == std::string_view::npos) return infra("its runtime does not say which gfx it is");
  const std::string_view text = all.substr(begin, all.find('\0', begin) - begin);
  return std::string(text.substr(0, text.find(':')));
}

Code count_hip_processors(int* count, int device) {
  constexpr int kProcessors = 63;  // hipDeviceAttribute_t
  return hip_names.attribute(count, kProcessors, device);
}

Result<Driver> load_hip() {
  // Without its development package a runtime has only the name with the version.
  const std::vector<const char*> names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6",
                                          "libamdhip64.so.5"};
  const Library library(names);
  if (!library.is_there()) {
    return infra(
        fmt::format("{} was not found: install ROCm's HIP runtime", fmt::join(names, ", ")));
  }
  Driver driver{};
  driver.vendor = "hip";
  driver.in_turn = "AMD_SERIALIZE_KERNEL=3";
  driver.library = library.name();
  std::string missing = library.fill(driver, false);
  const auto find = [&](auto*& function, const char* name) {
    library.find(function, name);
    if (function == nullptr && missing.empty()) missing = name;
  };
  find(hip_names.error_name, "hipGetErrorName");
  find(hip_names.error_string, "hipGetErrorString");
  find(hip_names.set_device, "hipSetDevice");
  find(hip_names.attribute, "hipDeviceGetAttribute");
  library.find(hip_names.properties, "hipGetDevicePropertiesR0600");  // since release 6
  if (hip_names.properties == nullptr) find(hip_names.properties, "hipGetDeviceProperties");
  if (!missing.empty()) {
    return infra(fmt::format("{} has no {}: ROCm 5.2 or newer is needed", driver.library, missing));
  }
  driver.describe = describe_hip;
  driver.processors = count_hip_processors;
  driver.architecture = hip_architecture;
  driver.retain_context = {"hipSetDevice", retain_hip_device};
  driver.set_context = {"hipSetDevice", set_hip_device};
  return started(std::move(driver));
}

Result<const Driver*> pointer_to(const Result<Driver>& loaded) {
  if (!loaded.ok()) return loaded.trouble();
  return &*loaded;
}

}  // namespace

Result<const Driver*> cuda_driver() {
  static const Result<Driver> loaded = load_cuda();
  return pointer_to(loaded);
}

Result<const Driver*> hip_driver() {
  static const Result<Driver> loaded = load_hip();
  return pointer_to(loaded);
}

std::string error_text(const Driver& driver, const char* call, Code code) {
  const char *name = nullptr, *text = nullptr;
  driver.describe(code, &name, &text);
  std::string said =
      fmt::format("{}: {}", call, name == nullptr ? fmt::format("error {}", code) : name);
  // HIP 5's text is the name again.
  if (text != nullptr && (name == nullptr || std::string_view(name) != text)) {
    said += fmt::format(": {}", text);
  }
  return said;
}

// CUDA Driver API, "CUresult", and hipError_t, which has the same numbers: those that leave the
// context, or the process, unusable.
bool is_fault(Code code) {
  switch (code) {
    case 214:  // ECC uncorrectable
    case 700:  // illegal address
    case 702:  // launch timeout
    case 710:  // assert
    case 714:  // hardware stack error
    case 715:  // illegal instruction
    case 716:  // misaligned address
    case 717:  // invalid address space
    case 718:  // invalid pc
    case 719:  // launch failed
      return true;
    default:
      return false;
  }
}

std::string why_no_guard_pages(const Driver& driver) {
  constexpr int kRelease6 = 60000000;  // its hipMemAllocationProp is CUDA's; release 5 has another
  const bool is_old = driver.vendor == "hip" && driver.version < kRelease6;
  if (driver.granularity.is_there() && driver.reserve.is_there() && driver.create.is_there() &&
      driver.map.is_there() && driver.set_access.is_there() && driver.unmap.is_there() &&
      driver.release_handle.is_there() && driver.free_address.is_there() && !is_old) {
    return {};
  }
  return fmt::format(
      "{} {} has no virtual memory that guard pages could be made of{}: --guard-page none",
      driver.library, driver.version, driver.vendor == "hip" ? " (ROCm 6 has)" : "");
}

}  // namespace attest::gpu_driver

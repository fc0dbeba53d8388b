#include "harness/device/gpu/driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace attest::gpu_driver {
namespace {

class Loader {
 public:
  explicit Loader(void* library) : library_(library) {}
  template <class F>
  void operator()(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(library_, name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void load_basics(Loader& load, Driver& d) {
  load(d.init, "cuInit");
  load(d.driver_version, "cuDriverGetVersion");
  load(d.device_count, "cuDeviceGetCount");
  load(d.device_get, "cuDeviceGet");
  load(d.device_name, "cuDeviceGetName");
  load(d.device_attribute, "cuDeviceGetAttribute");
  load(d.error_name, "cuGetErrorName");
  load(d.error_string, "cuGetErrorString");
  load(d.retain_context, "cuDevicePrimaryCtxRetain");
  load(d.release_context, "cuDevicePrimaryCtxRelease_v2");
  load(d.set_context, "cuCtxSetCurrent");
  load(d.load_module, "cuModuleLoadData");
  load(d.unload_module, "cuModuleUnload");
  load(d.get_function, "cuModuleGetFunction");
  load(d.set_function_attribute, "cuFuncSetAttribute");
}

void load_work(Loader& load, Driver& d) {
  load(d.launch, "cuLaunchKernel");
  load(d.create_stream, "cuStreamCreate");
  load(d.destroy_stream, "cuStreamDestroy_v2");
  load(d.query_stream, "cuStreamQuery");
  load(d.synchronize_stream, "cuStreamSynchronize");
  load(d.begin_capture, "cuStreamBeginCapture_v2");
  load(d.end_capture, "cuStreamEndCapture");
  load(d.instantiate, "cuGraphInstantiateWithFlags");
  load(d.launch_graph, "cuGraphLaunch");
  load(d.destroy_graph, "cuGraphDestroy");
  load(d.destroy_graph_exec, "cuGraphExecDestroy");
  load(d.create_event, "cuEventCreate");
  load(d.record_event, "cuEventRecord");
  load(d.elapsed_ms, "cuEventElapsedTime");
  load(d.destroy_event, "cuEventDestroy_v2");
}

void load_memory(Loader& load, Driver& d) {
  load(d.allocate, "cuMemAlloc_v2");
  load(d.release, "cuMemFree_v2");
  load(d.copy_to_device, "cuMemcpyHtoD_v2");
  load(d.copy_to_host, "cuMemcpyDtoH_v2");
  load(d.fill_16, "cuMemsetD16Async");
  load(d.granularity, "cuMemGetAllocationGranularity");
  load(d.reserve, "cuMemAddressReserve");
  load(d.create, "cuMemCreate");
  load(d.map, "cuMemMap");
  load(d.set_access, "cuMemSetAccess");
  load(d.unmap, "cuMemUnmap");
  load(d.release_handle, "cuMemRelease");
  load(d.free_address, "cuMemAddressFree");
}

Result<Driver> load_cuda() {
  constexpr const char* kLibrary = "libcuda.so.1";
  // It stays loaded: a driver's own allocations would be leaked each time it is closed.
  void* const library = dlopen(kLibrary, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    return Trouble{TroubleKind::kInfra,
                   fmt::format("{} was not found: install NVIDIA's driver", kLibrary)};
  }
  Driver driver{};
  driver.library = kLibrary;
  Loader load(library);
  load_basics(load, driver);
  load_work(load, driver);
  load_memory(load, driver);
  if (!load.missing().empty()) {
    return Trouble{TroubleKind::kInfra,
                   fmt::format("{} has no {}: a driver of CUDA 12 or newer is needed", kLibrary,
                               load.missing())};
  }
  if (const Code code = driver.init(0); code != 0) {
    return Trouble{TroubleKind::kInfra, error_text(driver, "cuInit", code)};
  }
  return driver;
}

}  // namespace

Result<const Driver*> cuda_driver() {
  static const Result<Driver> loaded = load_cuda();
  if (!loaded.ok()) return loaded.trouble();
  return &*loaded;
}

std::string error_text(const Driver& driver, const char* call, Code code) {
  const char *name = nullptr, *text = nullptr;
  if (driver.error_name(code, &name) != 0) name = nullptr;
  if (driver.error_string(code, &text) != 0) text = nullptr;
  return fmt::format("{}: {}: {}", call, name == nullptr ? fmt::format("error {}", code) : name,
                     text == nullptr ? "no text" : text);
}

// CUDA Driver API, "CUresult": those that leave the context, or the process, unusable.
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

}  // namespace attest::gpu_driver

// The driver of a GPU vendor, loaded at run time: CUDA's driver API. HIP's module API has the same
// calls in the same shape under other names, so that one table serves both. No header of either is
// needed; the signatures are those of the CUDA Driver API reference, release 12 and 13.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/core/trouble.hpp"

namespace attest::gpu_driver {

using Address = std::uint64_t;  // of device memory
using Stream = void*;
using Code = int;  // 0: success

struct MemoryLocation {
  int type = 1;  // a device
  int id = 0;
};
// CUmemAllocationProp.
struct AllocationProperties {
  int type = 1;  // pinned
  int requested_handle_types = 0;
  MemoryLocation location;
  void* win32_handle_meta_data = nullptr;
  unsigned char flags[8] = {};
};
// CUmemAccessDesc.
struct AccessDescription {
  MemoryLocation location;
  int flags = 3;  // read and write
};

struct Driver {
  std::string library;  // "libcuda.so.1"
  Code (*init)(unsigned);
  Code (*driver_version)(int*);
  Code (*device_count)(int*);
  Code (*device_get)(int*, int);
  Code (*device_name)(char*, int, int);
  Code (*device_attribute)(int*, int, int);
  Code (*error_name)(Code, const char**);
  Code (*error_string)(Code, const char**);
  Code (*retain_context)(void**, int);
  Code (*release_context)(int);
  Code (*set_context)(void*);
  Code (*load_module)(void**, const void* image);
  Code (*unload_module)(void*);
  Code (*get_function)(void**, void* module, const char*);
  Code (*set_function_attribute)(void*, int, int);
  Code (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                 Stream, void**, void**);
  Code (*allocate)(Address*, std::size_t);
  Code (*release)(Address);
  Code (*copy_to_device)(Address, const void*, std::size_t);
  Code (*copy_to_host)(void*, Address, std::size_t);
  Code (*fill_16)(Address, std::uint16_t, std::size_t elements, Stream);
  Code (*create_stream)(Stream*, unsigned);
  Code (*destroy_stream)(Stream);
  Code (*query_stream)(Stream);
  Code (*synchronize_stream)(Stream);
  Code (*begin_capture)(Stream, int);
  Code (*end_capture)(Stream, void**);
  Code (*instantiate)(void**, void*, unsigned long long);
  Code (*launch_graph)(void*, Stream);
  Code (*destroy_graph)(void*);
  Code (*destroy_graph_exec)(void*);
  Code (*create_event)(void**, unsigned);
  Code (*record_event)(void*, Stream);
  Code (*elapsed_ms)(float*, void*, void*);
  Code (*destroy_event)(void*);
  // Virtual memory.
  Code (*granularity)(std::size_t*, const AllocationProperties*, int);
  Code (*reserve)(Address*, std::size_t, std::size_t, Address, unsigned long long);
  Code (*create)(unsigned long long*, std::size_t, const AllocationProperties*, unsigned long long);
  Code (*map)(Address, std::size_t, std::size_t, unsigned long long, unsigned long long);
  Code (*set_access)(Address, std::size_t, const AccessDescription*, std::size_t);
  Code (*unmap)(Address, std::size_t);
  Code (*release_handle)(unsigned long long);
  Code (*free_address)(Address, std::size_t);
};

inline constexpr Code kNotReady = 600;  // a stream has work left

// Loaded once and kept. Trouble kInfra: which library or call is missing.
Result<const Driver*> cuda_driver();

// "cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available ..."
std::string error_text(const Driver& driver, const char* call, Code code);
// Whether every later call of this process on the device fails alike: the kernel made it unusable.
bool is_fault(Code code);

}  // namespace attest::gpu_driver

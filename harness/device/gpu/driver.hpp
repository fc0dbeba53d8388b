// The driver of a GPU vendor, loaded at run time: CUDA's driver API, or HIP's module API, which has
// the same calls in the same shape under other names. One table serves both; where the shapes
// differ, an adapter of driver.cpp gives them this one. No header of either vendor is needed: the
// signatures are those of the CUDA Driver API reference, release 12 and 13, and of
// hip/hip_runtime_api.h, release 5 to 7; driver_test compares them with the headers that are
// installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "harness/core/trouble.hpp"

namespace attest::gpu_driver {

using Address = std::uint64_t;  // of device memory
using Stream = void*;
using Code = int;  // 0: success

inline constexpr Code kInvalidValue = 1, kOutOfMemory = 2;
inline constexpr Code kNotReady = 600;  // a stream has work left

struct MemoryLocation {
  int type = 1;  // a device
  int id = 0;
};
// CUmemAllocationProp; hipMemAllocationProp since release 6.
struct AllocationProperties {
  int type = 1;  // pinned
  int requested_handle_types = 0;
  MemoryLocation location;
  void* win32_handle_meta_data = nullptr;
  unsigned char flags[8] = {};
};
// CUmemAccessDesc, hipMemAccessDesc.
struct AccessDescription {
  MemoryLocation location;
  int flags = 3;  // read and write
};

template <class Signature>
struct Call;
template <class... P>
struct Call<Code(P...)> {
  const char* name = "";  // the vendor's, for what is said when it fails
  Code (*function)(P...) = nullptr;
  Code operator()(P... parameters) const { return function(parameters...); }
  bool is_there() const { return function != nullptr; }
};

struct Driver {
  std::string vendor;   // "cuda", as in "cuda:0"
  std::string library;  // "libcuda.so.1"
  int version = 0;      // CUDA's 13000, HIP's 60300000
  std::string in_turn;  // what in the environment makes each launch wait for the one before

  Call<Code(unsigned)> init;
  Call<Code(int*)> get_version;
  Call<Code(int*)> count_devices;
  Call<Code(int*, int index)> get_device;
  Call<Code(char*, int bytes, int device)> get_name;
  // What a device's code objects are built for: "sm_90", "gfx942".
  Result<std::string> (*architecture)(const Driver&, int device) = nullptr;
  Code (*processors)(int* count, int device) = nullptr;
  void (*describe)(Code, const char** name, const char** text) = nullptr;

  // What a thread works in: CUDA's primary context. It is never released: to make it anew takes
  // longer than most cases.
  Call<Code(void**, int device)> retain_context;
  Call<Code(void*)> set_context;

  Call<Code(void**, const void* image)> load_module;
  Call<Code(void*)> unload_module;
  Call<Code(void**, void* module, const char*)> get_function;
  // Of the next two HIP has none, and needs none.
  Call<Code(void*, int attribute, int)> set_function_attribute;
  Call<Code(void*, std::size_t index, std::size_t* offset, std::size_t* bytes)> get_parameter;
  Call<Code(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,
            void**, void**)>
      launch;

  Call<Code(Address*, std::size_t)> allocate;
  Call<Code(Address)> release;
  Call<Code(void**, std::size_t, unsigned)> allocate_pinned;
  Call<Code(void*)> release_pinned;
  Call<Code(Address, const void*, std::size_t, Stream)> copy_to_device;
  Call<Code(void*, Address, std::size_t, Stream)> copy_to_host;
  Call<Code(Address, std::uint16_t, std::size_t elements, Stream)> fill_16;

  Call<Code(Stream*, unsigned)> create_stream;
  Call<Code(Stream)> destroy_stream;
  Call<Code(Stream)> query_stream;
  Call<Code(Stream, int)> begin_capture;
  Call<Code(Stream, void**)> end_capture;
  Call<Code(void**, void*, unsigned long long)> instantiate;
  Call<Code(void*, Stream)> launch_graph;
  Call<Code(void*)> destroy_graph;
  Call<Code(void*)> destroy_executable;
  Call<Code(void**, unsigned)> create_event;
  Call<Code(void*, Stream)> record_event;
  Call<Code(float*, void*, void*)> elapsed_ms;
  Call<Code(void*)> destroy_event;

  // Virtual memory. An old HIP has none that could be used: has_pages().
  Call<Code(std::size_t*, const AllocationProperties*, int)> granularity;
  Call<Code(Address*, std::size_t, std::size_t alignment, Address, unsigned long long)> reserve;
  Call<Code(unsigned long long*, std::size_t, const AllocationProperties*, unsigned long long)>
      create;
  Call<Code(Address, std::size_t, std::size_t offset, unsigned long long, unsigned long long)> map;
  Call<Code(Address, std::size_t, const AccessDescription*, std::size_t)> set_access;
  Call<Code(Address, std::size_t)> unmap;
  Call<Code(unsigned long long)> release_handle;
  Call<Code(Address, std::size_t)> free_address;
};

// Loaded once and kept. Trouble kInfra: which library or call is missing, or why it finds no GPU.
Result<const Driver*> cuda_driver();
Result<const Driver*> hip_driver();

// "cuModuleLoadData: CUDA_ERROR_NO_BINARY_FOR_GPU: no kernel image is available ..."
std::string error_text(const Driver& driver, const char* call, Code code);
// Whether every later call of this process on the device fails alike: it is lost, mostly by a
// kernel.
bool is_fault(Code code);
// Empty when buffers can touch unmapped pages.
std::string why_no_guard_pages(const Driver& driver);

}  // namespace attest::gpu_driver

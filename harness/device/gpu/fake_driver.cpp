#include "harness/device/gpu/fake_driver.hpp"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "harness/device/emulator/emulator_device.hpp"

namespace attest::gpu_driver {
namespace {

constexpr std::size_t kPage = std::size_t{2} << 20;

std::optional<FakeGpu>& the_gpu() {
  static std::optional<FakeGpu> one;
  return one;
}

// What a call returns before it does anything; 0: it goes on.
Code asked(const std::string& name) {
  FakeGpu& gpu = fake_gpu();
  ++gpu.calls[name];
  const auto fails = gpu.fails.find(name);
  if (fails == gpu.fails.end()) return gpu.fault;
  const Code code = fails->second;
  gpu.fails.erase(fails);
  if (is_fault(code)) gpu.fault = code;
  return code;
}

std::size_t number_of(Stream stream) { return *static_cast<std::size_t*>(stream); }
void note(const char* what, Stream stream) {
  fake_gpu().order.push_back(what + (" " + std::to_string(number_of(stream))));
}

// What the emulator says of a launch is what a GPU says when it is waited for.
void take_fault() {
  if (!fake_gpu().emulator->synchronize().ok()) fake_gpu().fault = 700;
}

std::size_t image_bytes(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + std::size_t{header.e_shentsize} * header.e_shnum;
}

Code init(unsigned) { return asked("fakeInit"); }
Code get_version(int* version) { return *version = 60000000, 0; }
Code count(int* count) { return *count = 1, asked("fakeCount"); }
Code get_device(int* device, int index) { return *device = index, 0; }
Code get_name(char* name, int bytes, int) {
  return std::strncpy(name, "Fake GPU", static_cast<std::size_t>(bytes)), 0;
}
Result<std::string> architecture(const Driver&, int) { return fake_gpu().architecture; }
Code processors(int* count, int) { return *count = 304, 0; }
void describe(Code code, const char** name, const char** text) {
  *name = code == 700 ? "FAKE_ILLEGAL_ADDRESS" : "FAKE_ERROR";
  *text = code == kOutOfMemory ? "out of memory" : "what went wrong";
}
Code retain(void** context, int) {
  static int one;
  return *context = &one, asked("fakeRetain");
}
Code set_context(void*) { return 0; }

Code load_module(void** module, const void* image) {
  if (const Code code = asked("fakeLoadModule")) return code;
  FakeGpu& gpu = fake_gpu();
  // The emulator knows a path once.
  const std::string own = "/tmp/attest_fake_driver_" + std::to_string(getpid()) + "_" +
                          std::to_string(gpu.modules.size());
  std::ofstream(own, std::ios::binary)
      .write(static_cast<const char*>(image), static_cast<std::streamsize>(image_bytes(image)));
  const auto loaded = gpu.emulator->load_module(own);
  std::remove(own.c_str());
  if (!loaded.ok()) return 200;
  gpu.modules.push_back(std::make_unique<Module>(*loaded));
  *module = gpu.modules.back().get();
  return 0;
}
Code unload_module(void*) { return asked("fakeUnloadModule"); }
Code get_function(void** function, void* module, const char* symbol) {
  if (const Code code = asked("fakeGetFunction")) return code;
  FakeGpu& gpu = fake_gpu();
  const auto found = gpu.emulator->function(*static_cast<Module*>(module), symbol);
  if (!found.ok()) return 500;
  gpu.functions.push_back(std::make_unique<Function>(*found));
  *function = gpu.functions.back().get();
  return 0;
}
Code set_attribute(void*, int, int) { return asked("fakeSetAttribute"); }
Code launch(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
            unsigned bz, unsigned lds, Stream stream, void**, void** extra) {
  if (const Code code = asked("fakeLaunch")) return code;
  note("launch", stream);
  const auto* const bytes = static_cast<const std::byte*>(extra[1]);
  const auto arguments = KernelArguments::segment({bytes, *static_cast<std::size_t*>(extra[3])});
  FakeGpu& gpu = fake_gpu();
  const Outcome o = gpu.emulator->launch(*static_cast<Function*>(function),
                                         {{gx, gy, gz}, {bx, by, bz}, lds}, arguments);
  if (!o.ok()) return 9;
  if (!gpu.is_capturing) take_fault();
  return 0;
}

Code allocate(Address* address, std::size_t bytes) {
  if (const Code code = asked("fakeAllocate")) return code;
  const auto made = fake_gpu().emulator->allocate("memory of the GPU", bytes, 0);
  if (!made.ok()) return kOutOfMemory;
  fake_gpu().allocations[made->address] = *made;
  *address = made->address;
  return 0;
}
Code release(Address address) {
  if (const Code code = asked("fakeRelease")) return code;
  const auto held = fake_gpu().allocations.find(address);
  if (held == fake_gpu().allocations.end()) return kInvalidValue;
  fake_gpu().emulator->release(held->second);
  fake_gpu().allocations.erase(held);
  return 0;
}
Code allocate_pinned(void** memory, std::size_t bytes, unsigned) {
  if (const Code code = asked("fakeAllocatePinned")) return code;
  return *memory = std::malloc(bytes), 0;
}
Code release_pinned(void* memory) { return std::free(memory), asked("fakeReleasePinned"); }
Code to_device(Address to, const void* from, std::size_t bytes, Stream stream) {
  if (const Code code = asked("fakeCopyToDevice")) return code;
  note("write", stream);
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
Code to_host(void* to, Address from, std::size_t bytes, Stream stream) {
  if (const Code code = asked("fakeCopyToHost")) return code;
  note("read", stream);
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
Code fill(Address to, std::uint16_t value, std::size_t count, Stream stream) {
  if (const Code code = asked("fakeFill")) return code;
  note("fill", stream);
  std::fill_n(reinterpret_cast<std::uint16_t*>(to), count, value);
  return 0;
}

Code create_stream(Stream* stream, unsigned) {
  if (const Code code = asked("fakeCreateStream")) return code;
  FakeGpu& gpu = fake_gpu();
  gpu.streams.push_back(std::make_unique<std::size_t>(gpu.streams.size()));
  *stream = gpu.streams.back().get();
  return 0;
}
Code destroy_stream(Stream) { return asked("fakeDestroyStream"); }
Code query_stream(Stream stream) {
  if (const Code code = asked("fakeQueryStream")) return code;
  FakeGpu& gpu = fake_gpu();
  if (gpu.never_ready.contains(number_of(stream))) return kNotReady;
  int& polls = gpu.polls[number_of(stream)];
  if (polls++ < gpu.polls_until_ready) return kNotReady;
  polls = 0;
  note("wait", stream);
  return 0;
}
Code begin_capture(Stream stream, int) {
  if (const Code code = asked("fakeBeginCapture")) return code;
  fake_gpu().captured_on.push_back(number_of(stream));
  fake_gpu().is_capturing = true;
  return fake_gpu().emulator->begin_capture().ok() ? 0 : 900;
}
Code end_capture(Stream, void** graph) {
  FakeGpu& gpu = fake_gpu();
  const auto made = gpu.emulator->end_capture();
  gpu.is_capturing = false;
  if (const Code code = asked("fakeEndCapture")) return code;
  gpu.graphs.push_back(std::make_unique<Graph>(*made));
  *graph = gpu.graphs.back().get();
  return 0;
}
Code instantiate(void** executable, void* graph, unsigned long long) {
  return *executable = graph, asked("fakeInstantiate");
}
Code launch_graph(void* graph, Stream stream) {
  if (const Code code = asked("fakeLaunchGraph")) return code;
  note("replay", stream);
  if (!fake_gpu().emulator->replay(*static_cast<Graph*>(graph)).ok()) return kInvalidValue;
  take_fault();
  return 0;
}
Code destroy_graph(void*) { return asked("fakeDestroyGraph"); }
Code destroy_executable(void*) { return asked("fakeDestroyExecutable"); }
Code create_event(void** event, unsigned) {
  static int one;
  return *event = &one, asked("fakeCreateEvent");
}
Code record_event(void*, Stream stream) { return note("event", stream), asked("fakeRecordEvent"); }
Code elapsed(float* ms, void*, void*) { return *ms = 1.5F, asked("fakeElapsed"); }
Code destroy_event(void*) { return asked("fakeDestroyEvent"); }

Code granularity(std::size_t* bytes, const AllocationProperties*, int) {
  return *bytes = kPage, asked("fakeGranularity");
}
Code reserve(Address* address, std::size_t bytes, std::size_t, Address, unsigned long long) {
  if (const Code code = asked("fakeReserve")) return code;
  void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return kOutOfMemory;
  *address = reinterpret_cast<Address>(at);
  fake_gpu().pages[*address] = bytes;
  return 0;
}
Code create(unsigned long long* handle, std::size_t, const AllocationProperties*,
            unsigned long long) {
  if (const Code code = asked("fakeCreate")) return code;
  *handle = static_cast<unsigned long long>(fake_gpu().calls["fakeCreate"]);
  fake_gpu().handles.insert(*handle);
  return 0;
}
Code map(Address at, std::size_t bytes, std::size_t, unsigned long long, unsigned long long) {
  if (const Code code = asked("fakeMap")) return code;
  fake_gpu().mapped[at] = bytes;
  return 0;
}
Code set_access(Address at, std::size_t bytes, const AccessDescription*, std::size_t) {
  if (const Code code = asked("fakeSetAccess")) return code;
  return mprotect(reinterpret_cast<void*>(at), bytes, PROT_READ | PROT_WRITE);
}
Code unmap(Address at, std::size_t bytes) {
  if (const Code code = asked("fakeUnmap")) return code;
  fake_gpu().mapped.erase(at);
  return mprotect(reinterpret_cast<void*>(at), bytes, PROT_NONE);
}
Code release_handle(unsigned long long handle) {
  return fake_gpu().handles.erase(handle) == 1 ? asked("fakeReleaseHandle") : kInvalidValue;
}
Code free_address(Address at, std::size_t bytes) {
  if (const Code code = asked("fakeFreeAddress")) return code;
  fake_gpu().pages.erase(at);
  return munmap(reinterpret_cast<void*>(at), bytes);
}

}  // namespace

FakeGpu::FakeGpu() : emulator(emulator::make_device("gfx942", {.threads = 1})) {}

FakeGpu& fake_gpu() { return *the_gpu(); }
void reset_fake_gpu() { the_gpu().emplace(); }

Driver fake_driver(const std::string& vendor) {
  Driver d{};
  d.vendor = vendor;
  d.library = "libfake.so";
  d.in_turn = "FAKE_IN_TURN=1";
  d.version = 60000000;
  d.architecture = architecture;
  d.processors = processors;
  d.describe = describe;
  d.init = {"fakeInit", init};
  d.get_version = {"fakeGetVersion", get_version};
  d.count_devices = {"fakeCount", count};
  d.get_device = {"fakeGetDevice", get_device};
  d.get_name = {"fakeGetName", get_name};
  d.retain_context = {"fakeRetain", retain};
  d.set_context = {"fakeSetContext", set_context};
  d.load_module = {"fakeLoadModule", load_module};
  d.unload_module = {"fakeUnloadModule", unload_module};
  d.get_function = {"fakeGetFunction", get_function};
  d.set_function_attribute = {"fakeSetAttribute", set_attribute};
  d.launch = {"fakeLaunch", launch};
  d.allocate = {"fakeAllocate", allocate};
  d.release = {"fakeRelease", release};
  d.allocate_pinned = {"fakeAllocatePinned", allocate_pinned};
  d.release_pinned = {"fakeReleasePinned", release_pinned};
  d.copy_to_device = {"fakeCopyToDevice", to_device};
  d.copy_to_host = {"fakeCopyToHost", to_host};
  d.fill_16 = {"fakeFill", fill};
  d.create_stream = {"fakeCreateStream", create_stream};
  d.destroy_stream = {"fakeDestroyStream", destroy_stream};
  d.query_stream = {"fakeQueryStream", query_stream};
  d.begin_capture = {"fakeBeginCapture", begin_capture};
  d.end_capture = {"fakeEndCapture", end_capture};
  d.instantiate = {"fakeInstantiate", instantiate};
  d.launch_graph = {"fakeLaunchGraph", launch_graph};
  d.destroy_graph = {"fakeDestroyGraph", destroy_graph};
  d.destroy_executable = {"fakeDestroyExecutable", destroy_executable};
  d.create_event = {"fakeCreateEvent", create_event};
  d.record_event = {"fakeRecordEvent", record_event};
  d.elapsed_ms = {"fakeElapsed", elapsed};
  d.destroy_event = {"fakeDestroyEvent", destroy_event};
  d.granularity = {"fakeGranularity", granularity};
  d.reserve = {"fakeReserve", reserve};
  d.create = {"fakeCreate", create};
  d.map = {"fakeMap", map};
  d.set_access = {"fakeSetAccess", set_access};
  d.unmap = {"fakeUnmap", unmap};
  d.release_handle = {"fakeReleaseHandle", release_handle};
  d.free_address = {"fakeFreeAddress", free_address};
  return d;
}

}  // namespace attest::gpu_driver

// The part of HIP's module API that a standalone program uses (harness/standalone/), over the
// emulator: such a program runs where no GPU is when linked with this instead of libamdhip64. Its
// declarations repeat those of hip/hip_runtime_api.h, which this file does not need.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/core/poison.hpp"
#include "harness/device/emulator/code_object.hpp"
#include "harness/device/emulator/emulator_device.hpp"

namespace {

// Source: hip/hip_runtime_api.h, enum hipError_t.
constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidImage = 200;
constexpr int kNotFound = 500;
constexpr int kLaunchTimeOut = 702;
constexpr int kLaunchFailure = 719;

struct LoadedModule {
  attest::Module module;
  std::shared_ptr<const attest::emulator::CodeObject> object;
};

struct LoadedFunction {
  attest::Function function;
  const attest::emulator::KernelInfo* kernel;
};

// Everything that a process holds. Handles are addresses of the vectors' and maps' elements.
struct World {
  std::unique_ptr<attest::Device> device;
  std::vector<std::unique_ptr<LoadedModule>> modules;
  std::vector<std::unique_ptr<LoadedFunction>> functions;
  std::vector<std::unique_ptr<attest::Graph>> graphs;
  std::map<const std::byte*, attest::Buffer> buffers;
  std::string next_label = "buffer";
  std::string last_error;
};

World& world() {
  static World the_world;
  return the_world;
}

int fail(int error, std::string text) {
  world().last_error = std::move(text);
  return error;
}

int fail(const attest::Trouble& trouble, int otherwise = kInvalidValue) {
  switch (trouble.kind) {
    case attest::TroubleKind::kCrashed:
      return fail(kLaunchFailure, trouble.text);
    case attest::TroubleKind::kHung:
      return fail(kLaunchTimeOut, trouble.text);
    default:
      return fail(otherwise, trouble.text);
  }
}

template <class T>
int done(const attest::Result<T>& result) {
  return result.ok() ? kSuccess : fail(result.trouble());
}

attest::Device& device_for(const std::string& target) {
  auto& device = world().device;
  if (!device) {
    // One thread, as cases are recorded: with several, which of two workgroups comes first would be
    // the host's doing, whatever the schedule.
    device = attest::emulator::make_device(target, {.threads = 1});
  }
  return *device;
}

attest::Device& device() { return device_for("gfx942"); }

// The buffer that holds all of [at, at + bytes), and the offset in it.
const attest::Buffer* buffer_of(const void* at, std::size_t bytes, std::size_t& offset) {
  const auto* const address = static_cast<const std::byte*>(at);
  auto& buffers = world().buffers;
  auto found = buffers.upper_bound(address);
  if (found == buffers.begin()) return nullptr;
  --found;
  offset = static_cast<std::size_t>(address - found->first);
  const attest::Buffer& buffer = found->second;
  return offset <= buffer.bytes && bytes <= buffer.bytes - offset ? &buffer : nullptr;
}

// What a launch gets, each argument where the code object's metadata has it.
attest::KernelArguments arguments_of(const attest::emulator::KernelInfo& kernel, void** values) {
  attest::KernelArguments arguments;
  for (const attest::emulator::ArgumentInfo& argument : kernel.arguments) {
    if (argument.value_kind.starts_with("hidden_")) break;
    const auto* const value = static_cast<const std::byte*>(*values++);
    arguments.add_at(argument.offset, {value, argument.size});
  }
  return arguments;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): HIP's names
extern "C" {

// Not HIP's: a program looks for them by weak references.
void attest_set_schedule(const char* text) {
  if (const auto schedule = attest::parse_schedule(text)) device().set_schedule(*schedule);
}
void attest_name_next(const char* label) { world().next_label = label; }

int hipModuleLoad(void** module, const char* path) {
  std::string why;
  for (const char* const target : {"gfx942", "gfx90a"}) {
    auto object = attest::emulator::CodeObject::load(path, target);
    if (!object.ok()) {
      if (why.empty()) why = object.trouble().text;
      continue;
    }
    const auto loaded = device_for(target).load_module(path);
    if (!loaded.ok()) return fail(loaded.trouble(), kInvalidImage);
    world().modules.push_back(std::make_unique<LoadedModule>(LoadedModule{*loaded, *object}));
    *module = world().modules.back().get();
    return kSuccess;
  }
  return fail(kInvalidImage, why);
}

int hipModuleGetFunction(void** function, void* module, const char* symbol) {
  const auto& loaded = *static_cast<const LoadedModule*>(module);
  const auto made = device().function(loaded.module, symbol);
  if (!made.ok()) return fail(made.trouble(), kNotFound);
  const auto kernels = loaded.object->kernels();
  const auto kernel =
      std::find_if(kernels.begin(), kernels.end(), [&](const auto& k) { return k.name == symbol; });
  world().functions.push_back(std::make_unique<LoadedFunction>(LoadedFunction{*made, &*kernel}));
  *function = world().functions.back().get();
  return kSuccess;
}

int hipMalloc(void** address, std::size_t bytes) {
  const auto made = device().allocate(world().next_label, bytes, attest::kPoison16);
  if (!made.ok()) return fail(made.trouble(), kOutOfMemory);
  *address = reinterpret_cast<void*>(made->address);
  world().buffers[static_cast<const std::byte*>(*address)] = *made;
  return kSuccess;
}

int hipFree(void* address) {
  const auto found = world().buffers.find(static_cast<const std::byte*>(address));
  if (found == world().buffers.end()) return fail(kInvalidValue, "hipFree of what is no buffer");
  device().release(found->second);
  world().buffers.erase(found);
  return kSuccess;
}

int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  std::size_t offset = 0;
  if (kind == 1) {  // hipMemcpyHostToDevice
    const attest::Buffer* const buffer = buffer_of(to, bytes, offset);
    if (buffer == nullptr) return fail(kInvalidValue, "hipMemcpy to what is no buffer");
    return done(device().write(*buffer, offset, {static_cast<const std::byte*>(from), bytes}));
  }
  if (kind != 2) return fail(kInvalidValue, "hipMemcpy of a kind that is not modelled");
  const attest::Buffer* const buffer = buffer_of(from, bytes, offset);
  if (buffer == nullptr) return fail(kInvalidValue, "hipMemcpy from what is no buffer");
  return done(device().read(*buffer, offset, {static_cast<std::byte*>(to), bytes}));
}

// Writes only what differs, so that a huge pool that holds the pattern already stays one page.
int hipMemsetD16(void* address, unsigned short value, std::size_t count) {
  constexpr std::size_t kChunk = 2048;  // values: a page
  std::size_t offset = 0;
  const attest::Buffer* const buffer = buffer_of(address, count * sizeof value, offset);
  if (buffer == nullptr) return fail(kInvalidValue, "hipMemsetD16 of what is no buffer");
  const std::vector<unsigned short> pattern(std::min(kChunk, count), value);
  std::vector<unsigned short> now(pattern.size());
  for (std::size_t at = 0; at < count; at += kChunk) {
    const std::size_t n = std::min(kChunk, count - at);
    const auto wanted = std::as_bytes(std::span{pattern}.first(n));
    const auto held = std::as_writable_bytes(std::span{now}.first(n));
    if (const int error = done(device().read(*buffer, offset + at * 2, held))) return error;
    if (std::memcmp(held.data(), wanted.data(), held.size()) == 0) continue;
    if (const int error = done(device().write(*buffer, offset + at * 2, wanted))) return error;
  }
  return kSuccess;
}

int hipModuleLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned dynamic_lds_bytes, void* /*stream*/, void** values,
                          void** /*extra*/) {
  const auto& loaded = *static_cast<const LoadedFunction*>(function);
  const attest::LaunchConfig config{
      {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, dynamic_lds_bytes};
  return done(device().launch(loaded.function, config, arguments_of(*loaded.kernel, values)));
}

int hipDeviceSynchronize() { return done(device().synchronize()); }

int hipStreamCreate(void** stream) {
  *stream = nullptr;  // there is one
  return kSuccess;
}
int hipStreamBeginCapture(void* /*stream*/, int /*mode*/) { return done(device().begin_capture()); }
int hipStreamEndCapture(void* /*stream*/, void** graph) {
  const auto made = device().end_capture();
  if (!made.ok()) return fail(made.trouble());
  world().graphs.push_back(std::make_unique<attest::Graph>(*made));
  *graph = world().graphs.back().get();
  return kSuccess;
}
int hipGraphInstantiate(void** instance, void* graph, void** /*node*/, char* /*log*/,
                        std::size_t /*log_bytes*/) {
  *instance = graph;
  return kSuccess;
}
int hipGraphLaunch(void* instance, void* /*stream*/) {
  return done(device().replay(*static_cast<const attest::Graph*>(instance)));
}

// The emulator's own words about the call that failed last.
const char* hipGetErrorString(int error) {
  return error == kSuccess ? "no error" : world().last_error.c_str();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

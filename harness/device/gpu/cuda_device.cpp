#include "harness/device/gpu/cuda_device.hpp"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

namespace attest::gpu_driver {
namespace {

using Clock = std::chrono::steady_clock;

// CUdevice_attribute.
constexpr int kMajor = 75, kMinor = 76, kProcessors = 16;
// CUfunction_attribute: the most dynamic shared memory; above 48 KiB it has to be asked for.
constexpr int kMaxDynamicShared = 8;
constexpr std::size_t kPlainShared = 48 * 1024;
// CU_STREAM_NON_BLOCKING, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL.
constexpr unsigned kNonBlocking = 1;
constexpr int kThreadLocal = 1;
// CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END.
void* const kArguments = reinterpret_cast<void*>(1);
void* const kArgumentBytes = reinterpret_cast<void*>(2);

struct LoadedFunction {
  void* handle = nullptr;
  std::string symbol;
};
struct InstantiatedGraph {
  void *graph = nullptr, *exec = nullptr;
};

class CudaDevice final : public Device {
 public:
  CudaDevice(const Driver& driver, int index, int device, const GpuOptions& options)
      : driver_(driver), index_(index), device_(device), options_(options) {}
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  Outcome open();

  std::string name() const override { return fmt::format("cuda:{}", index_); }
  std::string target() const override { return "sm_90"; }
  std::string description() const override;
  bool is_emulated() const override { return false; }
  int processors() const override {
    int count = 0;
    return driver_.device_attribute(&count, kProcessors, device_) == 0 ? count : 0;
  }
  MatrixUnit matrix_unit() const override { return MatrixUnit::kHopperBf16; }

  Result<Module> load_module(const std::string& path) override;
  Result<Function> function(Module module, const std::string& symbol) override;

  Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                          std::uint16_t fill) override {
    if (!lost_.text.empty()) return lost_;
    auto buffer = memory_->allocate(label, bytes, fill);
    if (!buffer.ok()) return note(buffer.trouble());
    return buffer;
  }
  void release(const Buffer& buffer) override { memory_->release(buffer); }
  void release_all() override { memory_->release_all(); }
  Outcome write(const Buffer& buffer, std::size_t offset, std::span<const std::byte> from) override;
  Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) override;
  std::string guard_damage(const Buffer& buffer) override;

  Outcome launch(Function function, const LaunchConfig& config,
                 const KernelArguments& arguments) override;
  Outcome synchronize() override;
  Outcome begin_capture() override;
  Result<Graph> end_capture() override;
  Result<Graph> instantiate(void* graph);
  Outcome replay(Graph graph) override;
  void set_schedule(Schedule /*schedule*/) override {}

 private:
  // The device is of no more use once a kernel faulted or hangs: every later call says so.
  Trouble note(Trouble trouble);
  Outcome check(const char* call, Code code);

  const Driver& driver_;
  int index_, device_;
  GpuOptions options_;
  void* context_ = nullptr;
  Stream stream_ = nullptr;
  std::unique_ptr<Memory> memory_;
  std::vector<std::pair<std::string, void*>> modules_;  // by path
  std::vector<LoadedFunction> functions_;
  std::vector<InstantiatedGraph> graphs_;
  std::string launched_;  // since the last synchronize
  Trouble lost_{TroubleKind::kInfra, ""};
};

CudaDevice::~CudaDevice() {
  // Behind a fault every call fails, and a hang would be waited for: the process's end frees all.
  if (context_ == nullptr || !lost_.text.empty()) {
    if (memory_) static_cast<void>(memory_.release());
    return;
  }
  for (const InstantiatedGraph& graph : graphs_) {
    driver_.destroy_graph_exec(graph.exec);
    driver_.destroy_graph(graph.graph);
  }
  memory_.reset();
  for (const auto& [path, module] : modules_) driver_.unload_module(module);
  if (stream_ != nullptr) driver_.destroy_stream(stream_);
  driver_.release_context(device_);
}

Trouble CudaDevice::note(Trouble trouble) {
  const bool is_lost = trouble.kind == TroubleKind::kCrashed || trouble.kind == TroubleKind::kHung;
  if (is_lost && !launched_.empty()) {
    trouble.text = fmt::format("kernel {}: {}", launched_, trouble.text);
  }
  if (is_lost && lost_.text.empty()) {
    lost_.text = fmt::format("{} is of no use any more: {}", name(), trouble.text);
  }
  return trouble;
}

Outcome CudaDevice::check(const char* call, Code code) {
  if (code == 0) return Done{};
  const TroubleKind kind = is_fault(code) ? TroubleKind::kCrashed : TroubleKind::kInfra;
  return note({kind, error_text(driver_, call, code)});
}

Outcome CudaDevice::open() {
  if (Outcome o = check("cuDevicePrimaryCtxRetain", driver_.retain_context(&context_, device_));
      !o.ok()) {
    return o;
  }
  if (Outcome o = check("cuCtxSetCurrent", driver_.set_context(context_)); !o.ok()) return o;
  if (Outcome o = check("cuStreamCreate", driver_.create_stream(&stream_, kNonBlocking)); !o.ok()) {
    return o;
  }
  memory_ = std::make_unique<Memory>(driver_, device_, stream_, options_.guard_page);
  return Done{};
}

std::string CudaDevice::description() const {
  char text[256] = {};
  return driver_.device_name(text, sizeof text, device_) == 0 ? text : name();
}

Result<Module> CudaDevice::load_module(const std::string& path) {
  if (!lost_.text.empty()) return lost_;
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].first == path) return Module{static_cast<int>(i)};
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return Trouble{
        TroubleKind::kInfra,
        fmt::format("{}: it cannot be read; kernels are built for {} where nvcc is found "
                    "(cmake --preset cuda)",
                    path, target())};
  }
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  void* module = nullptr;
  if (const Outcome o = check("cuModuleLoadData", driver_.load_module(&module, image.c_str()));
      !o.ok()) {
    return Trouble{o.trouble().kind, path + ": " + o.trouble().text};
  }
  modules_.emplace_back(path, module);
  return Module{static_cast<int>(modules_.size()) - 1};
}

Result<Function> CudaDevice::function(Module module, const std::string& symbol) {
  if (!lost_.text.empty()) return lost_;
  const auto& [path, handle] = modules_.at(static_cast<std::size_t>(module.id));
  void* found = nullptr;
  if (const Outcome o =
          check("cuModuleGetFunction", driver_.get_function(&found, handle, symbol.c_str()));
      !o.ok()) {
    return Trouble{o.trouble().kind,
                   fmt::format("{}: kernel {}: {}", path, symbol, o.trouble().text)};
  }
  functions_.push_back({found, symbol});
  return Function{static_cast<int>(functions_.size()) - 1};
}

Outcome CudaDevice::write(const Buffer& buffer, std::size_t offset,
                          std::span<const std::byte> from) {
  if (from.empty()) return Done{};
  if (Outcome o = synchronize(); !o.ok()) return o;
  return check("cuMemcpyHtoD",
               driver_.copy_to_device(buffer.address + offset, from.data(), from.size()));
}

Outcome CudaDevice::read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) {
  if (to.empty()) return Done{};
  if (Outcome o = synchronize(); !o.ok()) return o;
  return check("cuMemcpyDtoH", driver_.copy_to_host(to.data(), buffer.address + offset, to.size()));
}

std::string CudaDevice::guard_damage(const Buffer& buffer) {
  if (!lost_.text.empty()) return {};
  const auto damage = memory_->damage(buffer);
  return damage.ok() ? *damage : note(damage.trouble()).text;
}

Outcome CudaDevice::launch(Function function, const LaunchConfig& config,
                           const KernelArguments& arguments) {
  if (!lost_.text.empty()) return lost_;
  const LoadedFunction& loaded = functions_.at(static_cast<std::size_t>(function.id));
  launched_ = loaded.symbol;
  if (config.dynamic_lds_bytes > kPlainShared) {
    const auto bytes = static_cast<int>(config.dynamic_lds_bytes);
    const Outcome o = check("cuFuncSetAttribute", driver_.set_function_attribute(
                                                      loaded.handle, kMaxDynamicShared, bytes));
    if (!o.ok()) return o;
  }
  std::size_t bytes = arguments.bytes().size();
  std::vector<std::byte> copy(arguments.bytes().begin(), arguments.bytes().end());
  void* extra[] = {kArguments, copy.data(), kArgumentBytes, &bytes, nullptr};
  const auto& [grid, block, lds] = config;
  return check("cuLaunchKernel", driver_.launch(loaded.handle, grid.x, grid.y, grid.z, block.x,
                                                block.y, block.z, lds, stream_, nullptr, extra));
}

Outcome CudaDevice::synchronize() {
  if (!lost_.text.empty()) return lost_;
  const auto begin = Clock::now();
  for (int polls = 0;; ++polls) {
    const Code code = driver_.query_stream(stream_);
    if (code != kNotReady) {
      Outcome o = check("cuStreamQuery", code);
      if (o.ok()) launched_.clear();
      return o;
    }
    // Most launches end within microseconds.
    if (polls < 1000) continue;
    if (std::chrono::duration<double>(Clock::now() - begin).count() > options_.launch_limit_s) {
      return note(
          {TroubleKind::kHung, fmt::format("no end within {:.0f} s", options_.launch_limit_s)});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

Outcome CudaDevice::begin_capture() {
  if (Outcome o = synchronize(); !o.ok()) return o;
  return check("cuStreamBeginCapture", driver_.begin_capture(stream_, kThreadLocal));
}

Result<Graph> CudaDevice::end_capture() {
  if (!lost_.text.empty()) return lost_;
  void* graph = nullptr;
  const Outcome o = check("cuStreamEndCapture", driver_.end_capture(stream_, &graph));
  launched_.clear();
  if (!o.ok()) return o.trouble();
  return instantiate(graph);
}

Result<Graph> CudaDevice::instantiate(void* graph) {
  void* exec = nullptr;
  const Outcome o = check("cuGraphInstantiate", driver_.instantiate(&exec, graph, 0));
  if (!o.ok()) {
    driver_.destroy_graph(graph);
    return o.trouble();
  }
  graphs_.push_back({graph, exec});
  return Graph{static_cast<int>(graphs_.size()) - 1};
}

Outcome CudaDevice::replay(Graph graph) {
  if (!lost_.text.empty()) return lost_;
  launched_ = "in a graph";
  return check("cuGraphLaunch",
               driver_.launch_graph(graphs_.at(static_cast<std::size_t>(graph.id)).exec, stream_));
}

Trouble infra(std::string text) { return {TroubleKind::kInfra, std::move(text)}; }

}  // namespace

Result<int> count_cuda_devices() {
  const auto driver = cuda_driver();
  if (!driver.ok()) return driver.trouble();
  int count = 0;
  if (const Code code = (*driver)->device_count(&count); code != 0) {
    return infra(error_text(**driver, "cuDeviceGetCount", code));
  }
  return count;
}

Result<std::unique_ptr<Device>> make_cuda_device(int index, const GpuOptions& options) {
  const auto count = count_cuda_devices();
  if (!count.ok()) return count.trouble();
  if (index >= *count) return infra(fmt::format("there are {} NVIDIA GPUs here", *count));
  const Driver& driver = **cuda_driver();
  int device = 0, major = 0, minor = 0;
  if (const Code code = driver.device_get(&device, index); code != 0) {
    return infra(error_text(driver, "cuDeviceGet", code));
  }
  driver.device_attribute(&major, kMajor, device);
  driver.device_attribute(&minor, kMinor, device);
  if (major != 9 || minor != 0) {
    return infra(fmt::format("it is of compute capability {}.{}; the kernels are built for sm_90",
                             major, minor));
  }
  auto made = std::make_unique<CudaDevice>(driver, index, device, options);
  if (const Outcome opened = made->open(); !opened.ok()) return opened.trouble();
  return std::unique_ptr<Device>(std::move(made));
}

}  // namespace attest::gpu_driver

#include "harness/device/gpu/gpu_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "harness/device/gpu/launch.hpp"
#include "harness/device/gpu/memory.hpp"
#include "harness/device/gpu/modules.hpp"
#include "harness/device/gpu/staging.hpp"
#include "harness/device/gpu/streams.hpp"
#include "harness/device/gpu/targets.hpp"

namespace attest::gpu_driver {
namespace {

// CU_STREAM_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed: what must not be done during a
// capture we refuse ourselves, and a kernel may have to be loaded.
constexpr int kRelaxed = 2;

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

struct CapturedGraph {
  void* executable = nullptr;  // null: its session is over
  std::vector<std::string> kernels;
  std::uint64_t largest_grid = 0;
};

// Of a capture that goes on.
struct Capture {
  Stream stream = nullptr;
  CapturedGraph graph;
};

std::uint64_t workgroups_of(const Dim3& grid) { return std::uint64_t{grid.x} * grid.y * grid.z; }

class GpuDevice final : public Device {
 public:
  GpuDevice(const Driver& driver, int index, FoundGpu gpu, const GpuOptions& options)
      : name_(fmt::format("{}:{}", driver.vendor, index)),
        gpu_(std::move(gpu)),
        streams_(driver, name_, options.launch_limit_s),
        staging_(streams_),
        memory_(streams_, staging_, options.guard_page),
        modules_(streams_, gpu_.target) {}
  ~GpuDevice() override;
  GpuDevice(const GpuDevice&) = delete;
  GpuDevice& operator=(const GpuDevice&) = delete;

  Outcome open();

  std::string name() const override { return name_; }
  std::string target() const override { return gpu_.target; }
  std::string description() const override { return gpu_.description; }
  bool is_emulated() const override { return false; }
  int processors() const override { return gpu_.processors; }
  MatrixUnit matrix_unit() const override { return gpu_.unit; }

  Result<Module> load_module(const std::string& path) override { return modules_.load(path); }
  Result<Function> function(Module module, const std::string& symbol) override {
    return modules_.function(module, symbol);
  }

  Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                          std::uint16_t fill) override {
    if (capture_) return usage("an allocation during stream capture is not permitted");
    return memory_.allocate(label, bytes, fill);
  }
  void release(const Buffer& buffer) override { static_cast<void>(memory_.release(buffer)); }
  void release_all() override;
  Outcome write(const Buffer& buffer, std::size_t offset, std::span<const std::byte> from) override;
  Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) override;
  std::string guard_damage(const Buffer& buffer) override;

  Outcome launch(Function function, const LaunchConfig& config,
                 const KernelArguments& arguments) override;
  Outcome synchronize() override;
  Outcome begin_capture() override;
  Result<Graph> end_capture() override;
  Outcome replay(Graph graph) override;
  void use_stream(int index) override {
    if (!capture_) streams_.use(index);
  }
  Result<double> time_ms(const std::function<Outcome()>& work) override;

  void set_schedule(Schedule /*schedule*/) override {}
  std::uint64_t take_largest_grid() override { return std::exchange(largest_grid_, 0); }

 private:
  const Driver& driver() const { return streams_.driver(); }
  std::string copy_refused(const char* what, const Buffer& buffer, std::size_t offset,
                           std::size_t bytes) const;
  Result<Stream> stream_for(const LoadedFunction& function, const Dim3& grid);
  Outcome time_between(const std::function<Outcome()>& work);

  std::string name_;
  FoundGpu gpu_;
  Streams streams_;  // before what uses it
  Staging staging_;
  Memory memory_;
  Modules modules_;
  std::vector<CapturedGraph> graphs_;
  std::optional<Capture> capture_;
  std::optional<Trouble>
      guard_trouble_;  // guard_damage() has no words for it: the next read returns it
  std::uint64_t largest_grid_ = 0;
  void *begin_event_ = nullptr, *end_event_ = nullptr;
};

GpuDevice::~GpuDevice() {
  release_all();
  if (!streams_.can_free()) return;
  for (void* const event : {begin_event_, end_event_}) {
    if (event != nullptr) static_cast<void>(streams_.run(driver().destroy_event, event));
  }
}

Outcome GpuDevice::open() {
  Outcome o = streams_.open(gpu_.device);
  if (o.ok()) o = staging_.open();
  if (o.ok()) o = memory_.open(gpu_.device, gpu_.target);
  return o;
}

void GpuDevice::release_all() {
  static_cast<void>(memory_.release_all());
  if (!streams_.can_free() || !streams_.wait().ok()) return;
  // They name memory that is gone.
  for (CapturedGraph& graph : graphs_) {
    if (graph.executable == nullptr) continue;
    static_cast<void>(streams_.run(driver().destroy_executable, graph.executable));
    graph.executable = nullptr;
  }
}

std::string GpuDevice::copy_refused(const char* what, const Buffer& buffer, std::size_t offset,
                                    std::size_t bytes) const {
  if (capture_) return fmt::format("a {} during stream capture is not permitted", what);
  return memory_.copy_refused(what, buffer, offset, bytes);
}

Outcome GpuDevice::write(const Buffer& buffer, std::size_t offset,
                         std::span<const std::byte> from) {
  if (auto why = copy_refused("write", buffer, offset, from.size()); !why.empty())
    return usage(why);
  return staging_.write(buffer.address + offset, from);
}

Outcome GpuDevice::read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) {
  if (auto why = copy_refused("read", buffer, offset, to.size()); !why.empty()) return usage(why);
  if (guard_trouble_) return *std::exchange(guard_trouble_, std::nullopt);
  return staging_.read(buffer.address + offset, to);
}

std::string GpuDevice::guard_damage(const Buffer& buffer) {
  const auto damage = memory_.damage(buffer);
  if (damage.ok()) return *damage;
  guard_trouble_ = damage.trouble();
  return {};
}

Result<Stream> GpuDevice::stream_for(const LoadedFunction& function, const Dim3& grid) {
  if (!capture_) {
    largest_grid_ = std::max(largest_grid_, workgroups_of(grid));
    return streams_.for_work({&function.symbol, 1});
  }
  CapturedGraph& graph = capture_->graph;
  graph.largest_grid = std::max(graph.largest_grid, workgroups_of(grid));
  if (std::find(graph.kernels.begin(), graph.kernels.end(), function.symbol) ==
      graph.kernels.end()) {
    graph.kernels.push_back(function.symbol);
  }
  return capture_->stream;
}

Outcome GpuDevice::launch(Function function, const LaunchConfig& config,
                          const KernelArguments& arguments) {
  if (streams_.is_lost()) return streams_.lost();
  const auto found = modules_.ready(function, config, arguments);
  if (!found.ok()) return found.trouble();
  const LoadedFunction& loaded = **found;
  const auto stream = stream_for(loaded, config.grid);
  if (!stream.ok()) return stream.trouble();
  memory_.note_launch();
  const Code code = launch_kernel(streams_, *stream, loaded.handle, config, arguments.bytes());
  const char* const call = driver().launch.name;
  const Outcome o = streams_.check(call, code);
  if (o.ok() || is_fault(code)) return o;
  const auto& [grid, block, bytes] = config;
  const bool is_refused = code == kInvalidValue || o.trouble().kind == TroubleKind::kUsage;
  return Trouble{
      is_refused ? TroubleKind::kRefused : o.trouble().kind,
      fmt::format("kernel {}: a grid of {} x {} x {} workgroups of {} x {} x {} threads with {} "
                  "bytes of dynamic shared memory: {}",
                  loaded.symbol, grid.x, grid.y, grid.z, block.x, block.y, block.z, bytes,
                  o.trouble().text)};
}

Outcome GpuDevice::synchronize() {
  if (capture_) return usage("synchronize during stream capture is not permitted");
  return streams_.wait();
}

Outcome GpuDevice::begin_capture() {
  if (capture_) return usage("begin_capture during a capture: the stream is already capturing");
  if (Outcome o = streams_.wait(); !o.ok()) return o;
  const auto stream = streams_.for_work({});
  if (!stream.ok()) return stream.trouble();
  Outcome o = streams_.run(driver().begin_capture, *stream, kRelaxed);
  if (o.ok()) capture_.emplace().stream = *stream;
  return o;
}

Result<Graph> GpuDevice::end_capture() {
  if (!capture_) return usage("end_capture without begin_capture");
  Capture captured = std::move(*capture_);
  capture_.reset();
  void* graph = nullptr;
  Outcome o = streams_.run(driver().end_capture, captured.stream, &graph);
  if (!o.ok()) return o.trouble();
  o = streams_.run(driver().instantiate, &captured.graph.executable, graph, 0ULL);
  static_cast<void>(streams_.run(driver().destroy_graph, graph));
  if (!o.ok()) return o.trouble();
  graphs_.push_back(std::move(captured.graph));
  return Graph{static_cast<int>(graphs_.size()) - 1};
}

Outcome GpuDevice::replay(Graph graph) {
  if (capture_) return usage("replay during stream capture is not permitted");
  if (graph.id < 0 || graph.id >= static_cast<int>(graphs_.size())) return usage("no such graph");
  const CapturedGraph& captured = graphs_[static_cast<std::size_t>(graph.id)];
  if (captured.executable == nullptr) return usage("a replay of a graph whose memory is released");
  const auto stream = streams_.for_work(captured.kernels);
  if (!stream.ok()) return stream.trouble();
  largest_grid_ = std::max(largest_grid_, captured.largest_grid);
  memory_.note_launch();
  return streams_.run(driver().launch_graph, captured.executable, *stream);
}

Outcome GpuDevice::time_between(const std::function<Outcome()>& work) {
  for (void** const event : {&begin_event_, &end_event_}) {
    if (*event != nullptr) continue;
    if (Outcome o = streams_.run(driver().create_event, event, 0U); !o.ok()) return o;
  }
  // What is in flight is not timed.
  if (Outcome o = synchronize(); !o.ok()) return o;
  const auto stream = streams_.for_work({});
  if (!stream.ok()) return stream.trouble();
  if (Outcome o = streams_.run(driver().record_event, begin_event_, *stream); !o.ok()) return o;
  if (Outcome o = work(); !o.ok()) return o;
  // What `work` waited for itself has left the stream idle.
  const auto again = streams_.for_work({});
  if (!again.ok()) return again.trouble();
  if (Outcome o = streams_.run(driver().record_event, end_event_, *again); !o.ok()) return o;
  return synchronize();
}

Result<double> GpuDevice::time_ms(const std::function<Outcome()>& work) {
  if (const Outcome o = time_between(work); !o.ok()) return o.trouble();
  float ms = 0;
  const Outcome o = streams_.run(driver().elapsed_ms, &ms, begin_event_, end_event_);
  if (!o.ok()) return o.trouble();
  return double{ms};
}

}  // namespace

Result<std::unique_ptr<Device>> make_gpu_device(const Driver& driver, int index,
                                                const GpuOptions& options) {
  const auto found = find_gpu(driver, index);
  if (!found.ok()) return found.trouble();
  auto made = std::make_unique<GpuDevice>(driver, index, *found, options);
  if (const Outcome opened = made->open(); !opened.ok()) return opened.trouble();
  return std::unique_ptr<Device>(std::move(made));
}

}  // namespace attest::gpu_driver

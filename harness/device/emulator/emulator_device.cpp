#include "harness/device/emulator/emulator_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "harness/device/emulator/checks/monitor.hpp"
#include "harness/device/emulator/executor.hpp"

namespace attest::emulator {
namespace {

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

struct LoadedFunction {
  std::shared_ptr<const CodeObject> object;
  KernelInfo kernel;
  std::shared_ptr<const Program> program;
};
struct Recorded {
  int function = -1;
  LaunchConfig config;
  std::vector<std::byte> arguments;  // frozen when captured
};

// Empty when the launcher's arguments lie where the kernel's metadata wants its explicit ones.
std::string argument_mismatch(const KernelInfo& kernel, const KernelArguments& arguments) {
  if (arguments.is_segment()) return {};
  const auto offsets = arguments.offsets();
  std::size_t i = 0;
  for (const ArgumentInfo& wanted : kernel.arguments) {
    if (wanted.value_kind.starts_with("hidden_")) break;
    const std::string which = fmt::format("argument {}{}{} of kernel {}", i,
                                          wanted.name.empty() ? "" : " ", wanted.name, kernel.name);
    if (i == offsets.size()) return which + " is missing";
    // Up to the next argument's start a gap is padding; the last one's size is known.
    const bool last = i + 1 == offsets.size();
    const std::size_t end = last ? arguments.bytes().size() : offsets[i + 1];
    const std::size_t size = end - offsets[i];
    if (offsets[i] != wanted.offset || size < wanted.size || (last && size != wanted.size)) {
      return fmt::format("{} is at byte {} with {} bytes; the code object wants it at {} with {}",
                         which, offsets[i], size, wanted.offset, wanted.size);
    }
    ++i;
  }
  if (!kernel.arguments.empty() && i != offsets.size()) {
    return fmt::format("kernel {} takes {} arguments, got {}", kernel.name, i, offsets.size());
  }
  return {};
}

// Empty when a launch of this shape is one that the hardware takes.
std::string shape_refused(const KernelInfo& kernel, const LaunchConfig& config) {
  const std::array grid = {config.grid.x, config.grid.y, config.grid.z};
  const std::array block = {config.block.x, config.block.y, config.block.z};
  const std::uint64_t most = kernel.max_workgroup_size ? kernel.max_workgroup_size : kMaxWorkgroup;
  std::uint64_t threads = 1;
  for (std::size_t axis = 0; axis < grid.size(); ++axis) {
    if (grid[axis] == 0 || block[axis] == 0) {
      return fmt::format("kernel {}: an empty grid or block", kernel.name);
    }
    // The dispatch packet counts threads of the grid in 32 bits.
    if (std::uint64_t{grid[axis]} * block[axis] > std::numeric_limits<std::uint32_t>::max()) {
      return fmt::format("kernel {}: {} workgroups of {} threads along {} are 2^32 or more",
                         kernel.name, grid[axis], block[axis], "xyz"[axis]);
    }
    threads = std::min(threads, std::uint64_t{1} << 31) * block[axis];
  }
  if (threads > most) {
    return fmt::format("kernel {}: a block of {} threads; it was compiled for at most {}",
                       kernel.name, threads, most);
  }
  if (std::uint64_t{kernel.lds_bytes} + config.dynamic_lds_bytes > kMaxLdsBytes) {
    return fmt::format("kernel {} asks for {} bytes of LDS, {} of them dynamic; a workgroup has {}",
                       kernel.name, std::uint64_t{kernel.lds_bytes} + config.dynamic_lds_bytes,
                       config.dynamic_lds_bytes, kMaxLdsBytes);
  }
  return {};
}

class EmulatorDevice final : public Device {
 public:
  EmulatorDevice(std::string target, const EmulatorOptions& options) : target_(std::move(target)) {
    run_.threads = options.threads;
    if (options.instruction_budget) run_.instruction_budget = options.instruction_budget;
    if (!options.checks.any()) return;
    monitor_.emplace(options.checks);
    run_.monitor = &*monitor_;
  }
  ~EmulatorDevice() override {
    for (const auto& object : modules_) memory_.abandon(object->image());
  }

  std::string name() const override { return "emu:" + target_; }
  std::string target() const override { return target_; }
  MatrixUnit matrix_unit() const override { return matrix_unit_of(run_.arith); }

  Result<Module> load_module(const std::string& path) override {
    if (auto known = module_at_.find(path); known != module_at_.end()) return Module{known->second};
    auto object = CodeObject::load(path, target_);
    if (!object.ok()) return object.trouble();
    memory_.adopt("code object " + path, (*object)->image());
    modules_.push_back(*object);
    module_at_[path] = static_cast<int>(modules_.size()) - 1;
    return Module{module_at_[path]};
  }

  Result<Function> function(Module module, const std::string& symbol) override {
    const auto key = std::pair{module.id, symbol};
    if (auto known = function_at_.find(key); known != function_at_.end())
      return Function{known->second};
    if (module.id < 0 || module.id >= static_cast<int>(modules_.size()))
      return usage("no such module");
    const auto& object = modules_[static_cast<std::size_t>(module.id)];
    std::string names;
    for (const KernelInfo& kernel : object->kernels()) {
      names += " " + kernel.name;
      if (kernel.name != symbol) continue;
      auto program = decode(object, kernel);
      if (!program.ok()) return program.trouble();
      functions_.push_back({object, kernel, *program});
      function_at_[key] = static_cast<int>(functions_.size()) - 1;
      return Function{function_at_[key]};
    }
    return usage(fmt::format("{} has no kernel {}; it has:{}", object->path(), symbol, names));
  }

  Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                          std::uint16_t fill) override {
    auto buffer = memory_.allocate(label, bytes, fill);
    if (monitor_ && buffer.ok()) {
      monitor_->allocated(*buffer, label);
      allocated_.push_back(*buffer);
    }
    return buffer;
  }
  void release(const Buffer& buffer) override {
    if (monitor_) {
      monitor_->released(buffer);
      std::erase_if(allocated_, [&](const Buffer& b) { return b.address == buffer.address; });
    }
    memory_.release(buffer);
  }
  void release_all() override {
    for (const Buffer& buffer : allocated_) monitor_->released(buffer);
    allocated_.clear();
    memory_.release_all();
  }

  Outcome write(const Buffer& buffer, std::size_t offset,
                std::span<const std::byte> from) override {
    if (auto why = copy_refused("write", buffer, offset, from.size()); !why.empty())
      return usage(why);
    if (!from.empty())
      std::memcpy(reinterpret_cast<std::byte*>(buffer.address) + offset, from.data(), from.size());
    if (monitor_) monitor_->host_wrote(buffer, offset, from.size());
    return Done{};
  }
  Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) override {
    if (auto why = copy_refused("read", buffer, offset, to.size()); !why.empty()) return usage(why);
    if (!to.empty())
      std::memcpy(to.data(), reinterpret_cast<const std::byte*>(buffer.address) + offset,
                  to.size());
    return Done{};
  }
  std::string guard_damage(const Buffer& buffer) override { return memory_.guard_damage(buffer); }

  Outcome launch(Function function, const LaunchConfig& config,
                 const KernelArguments& arguments) override {
    if (function.id < 0 || function.id >= static_cast<int>(functions_.size()))
      return usage("no such function");
    const KernelInfo& kernel = functions_[static_cast<std::size_t>(function.id)].kernel;
    if (auto why = launch_refused(kernel, config, arguments); !why.empty()) {
      return Trouble{TroubleKind::kRefused, std::move(why)};
    }
    Recorded record{function.id, config, {arguments.bytes().begin(), arguments.bytes().end()}};
    if (capture_) {
      capture_->push_back(std::move(record));
    } else {
      execute(record);
    }
    return Done{};
  }

  // A failed launch is reported here, once; launches after it did not run, as on a device whose
  // context is lost.
  Outcome synchronize() override {
    if (capture_) return usage("synchronize during stream capture is not permitted");
    if (!failure_) return Done{};
    const Trouble trouble = std::move(*failure_);
    failure_.reset();
    return trouble;
  }

  Outcome begin_capture() override {
    if (capture_) return usage("begin_capture during a capture: the stream is already capturing");
    capture_.emplace();
    return Done{};
  }
  Result<Graph> end_capture() override {
    if (!capture_) return usage("end_capture without begin_capture");
    graphs_.push_back(std::move(*capture_));
    capture_.reset();
    return Graph{static_cast<int>(graphs_.size()) - 1};
  }
  Outcome replay(Graph graph) override {
    if (capture_) return usage("replay during stream capture is not permitted");
    if (graph.id < 0 || graph.id >= static_cast<int>(graphs_.size())) return usage("no such graph");
    for (const Recorded& record : graphs_[static_cast<std::size_t>(graph.id)]) execute(record);
    return Done{};
  }

  void describe(const Buffer& buffer, const BufferUse& use) override {
    if (monitor_) monitor_->described(buffer, use);
  }
  std::vector<CheckReport> take_reports() override {
    return monitor_ ? monitor_->take_reports() : std::vector<CheckReport>{};
  }

  void set_arith(Arith arith) override { run_.arith = arith; }
  void set_schedule(Schedule schedule) override { run_.schedule = schedule; }
  std::uint64_t take_largest_grid() override { return std::exchange(largest_grid_, 0); }

 private:
  void execute(const Recorded& record) {
    if (failure_) return;
    const LoadedFunction& f = functions_[static_cast<std::size_t>(record.function)];
    auto statistics = run(*f.program, memory_, record.config, record.arguments, run_);
    if (!statistics.ok()) {
      failure_ = statistics.trouble();
      return;
    }
    largest_grid_ = std::max(largest_grid_, statistics->workgroups);
  }

  std::string copy_refused(const char* what, const Buffer& buffer, std::size_t offset,
                           std::size_t bytes) const {
    if (capture_) return fmt::format("a {} during stream capture is not permitted", what);
    if (offset > buffer.bytes || buffer.bytes - offset < bytes) {
      return fmt::format("a {} of {} bytes at {} is outside a buffer of {} bytes", what, bytes,
                         offset, buffer.bytes);
    }
    const Allocation* held = bytes ? memory_.find(buffer.address) : nullptr;
    if (bytes &&
        (!held || held->begin != buffer.address || held->end - held->begin < buffer.bytes)) {
      return fmt::format("a {} of a buffer that is not allocated", what);
    }
    return {};
  }

  static std::string launch_refused(const KernelInfo& kernel, const LaunchConfig& config,
                                    const KernelArguments& arguments) {
    std::string why = shape_refused(kernel, config);
    return why.empty() ? argument_mismatch(kernel, arguments) : why;
  }

  std::string target_;
  RunOptions run_;
  Memory memory_;
  std::optional<Monitor> monitor_;
  std::vector<Buffer> allocated_;  // kept for the monitor alone
  std::vector<std::shared_ptr<const CodeObject>> modules_;
  std::map<std::string, int> module_at_;
  std::vector<LoadedFunction> functions_;
  std::map<std::pair<int, std::string>, int> function_at_;
  std::optional<std::vector<Recorded>> capture_;
  std::vector<std::vector<Recorded>> graphs_;
  std::optional<Trouble> failure_;
  std::uint64_t largest_grid_ = 0;
};

}  // namespace

std::unique_ptr<Device> make_device(const std::string& target, const EmulatorOptions& options) {
  return std::make_unique<EmulatorDevice>(target, options);
}

}  // namespace attest::emulator

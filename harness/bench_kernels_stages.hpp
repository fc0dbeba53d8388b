// One stage of a kernel alone: a device that lets one of the launches of each Kernel::launch
// through, and counts them.
#pragma once
#include <string>

#include "harness/core/device.hpp"

namespace attest {

class StageDevice : public Device {
 public:
  static constexpr int kAll = -1;
  StageDevice(Device& inner, int stage) : inner_(inner), stage_(stage) {}

  void begin_kernel() { launches_ = 0; }      // before each Kernel::launch
  int launches() const { return launches_; }  // since then

  Outcome launch(Function function, const LaunchConfig& config,
                 const KernelArguments& arguments) override {
    const bool wanted = stage_ == kAll || launches_ == stage_;
    ++launches_;
    return wanted ? inner_.launch(function, config, arguments) : Outcome(Done{});
  }

  std::string name() const override { return inner_.name(); }
  std::string target() const override { return inner_.target(); }
  int processors() const override { return inner_.processors(); }
  std::string description() const override { return inner_.description(); }
  bool is_emulated() const override { return inner_.is_emulated(); }
  MatrixUnit matrix_unit() const override { return inner_.matrix_unit(); }
  Result<Module> load_module(const std::string& path) override { return inner_.load_module(path); }
  Result<Function> function(Module module, const std::string& symbol) override {
    return inner_.function(module, symbol);
  }
  Result<Buffer> allocate(const std::string& label, std::size_t bytes,
                          std::uint16_t fill) override {
    return inner_.allocate(label, bytes, fill);
  }
  void release(const Buffer& buffer) override { inner_.release(buffer); }
  void release_all() override { inner_.release_all(); }
  Outcome write(const Buffer& buffer, std::size_t offset,
                std::span<const std::byte> from) override {
    return inner_.write(buffer, offset, from);
  }
  Outcome read(const Buffer& buffer, std::size_t offset, std::span<std::byte> to) override {
    return inner_.read(buffer, offset, to);
  }
  std::string guard_damage(const Buffer& buffer) override { return inner_.guard_damage(buffer); }
  Outcome synchronize() override { return inner_.synchronize(); }
  Outcome begin_capture() override { return inner_.begin_capture(); }
  Result<Graph> end_capture() override { return inner_.end_capture(); }
  Outcome replay(Graph graph) override { return inner_.replay(graph); }
  void set_schedule(Schedule schedule) override { inner_.set_schedule(schedule); }

 private:
  Device& inner_;
  int stage_;
  int launches_ = 0;
};

}  // namespace attest

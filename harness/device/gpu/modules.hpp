// Code objects and their kernels on one device.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/device.hpp"
#include "harness/device/gpu/streams.hpp"

namespace attest::gpu_driver {

struct LoadedFunction {
  void* handle = nullptr;
  std::string symbol;
  std::uint32_t dynamic_bytes = 0;  // of shared memory that were asked for
};

// A path is loaded once for each device, not for each process: a module may have variables, and a
// case would see those of a case that another thread runs.
class Modules {
 public:
  Modules(Streams& streams, std::string target) : streams_(streams), target_(std::move(target)) {}
  ~Modules();
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  Result<Module> load(const std::string& path);
  Result<Function> function(Module module, const std::string& symbol);
  // A kernel that takes such a launch. Trouble kUsage: why it does not.
  Result<const LoadedFunction*> ready(Function function, const LaunchConfig& config,
                                      const KernelArguments& arguments);

 private:
  struct LoadedModule {
    std::string path;
    void* handle = nullptr;
  };
  const Driver& driver() const { return streams_.driver(); }
  std::string argument_mismatch(const LoadedFunction& function, const KernelArguments& arguments);
  Outcome ask_for_shared(LoadedFunction& function, std::uint32_t bytes);

  Streams& streams_;
  std::string target_;
  std::vector<LoadedModule> modules_;
  std::vector<LoadedFunction> functions_;
  std::map<std::pair<int, std::string>, int> function_at_;
};

}  // namespace attest::gpu_driver

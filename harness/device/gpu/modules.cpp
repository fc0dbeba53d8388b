#include "harness/device/gpu/modules.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "harness/core/code_object_file.hpp"

namespace attest::gpu_driver {
namespace {

// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: above 48 KiB, with what is static, it has to be
// asked for.
constexpr int kMaxDynamicShared = 8;

Trouble usage(std::string text) { return {TroubleKind::kUsage, std::move(text)}; }

}  // namespace

Modules::~Modules() {
  if (!streams_.can_free()) return;
  for (const LoadedModule& module : modules_) {
    static_cast<void>(streams_.run(driver().unload_module, module.handle));
  }
}

Result<Module> Modules::load(const std::string& path) {
  for (std::size_t i = 0; i < modules_.size(); ++i) {
    if (modules_[i].path == path) return Module{static_cast<int>(i)};
  }
  std::ifstream file(path, std::ios::binary);
  const std::string image{std::istreambuf_iterator<char>(file), {}};
  if (!file || image.empty()) {
    const char* const how =
        is_nvidia(target_) ? " where nvcc is found (cmake --preset cuda)" : " by clang";
    return usage(
        fmt::format("{}: it cannot be read; kernels are built for {}{}", path, target_, how));
  }
  void* handle = nullptr;
  const Outcome o =
      streams_.run(driver().load_module, &handle, static_cast<const void*>(image.c_str()));
  if (!o.ok()) {
    return Trouble{o.trouble().kind,
                   fmt::format("{}: {} ({} is version {})", path, o.trouble().text,
                               driver().library, driver().version)};
  }
  modules_.push_back({path, handle});
  return Module{static_cast<int>(modules_.size()) - 1};
}

Result<Function> Modules::function(Module module, const std::string& symbol) {
  const auto key = std::pair{module.id, symbol};
  if (const auto known = function_at_.find(key); known != function_at_.end()) {
    return Function{known->second};
  }
  if (module.id < 0 || module.id >= static_cast<int>(modules_.size()))
    return usage("no such module");
  const LoadedModule& loaded = modules_[static_cast<std::size_t>(module.id)];
  void* found = nullptr;
  const Outcome o = streams_.run(driver().get_function, &found, loaded.handle, symbol.c_str());
  if (!o.ok()) {
    return Trouble{o.trouble().kind,
                   fmt::format("{} has no kernel {}: {}", loaded.path, symbol, o.trouble().text)};
  }
  functions_.push_back({found, symbol, 0});
  function_at_[key] = static_cast<int>(functions_.size()) - 1;
  return Function{function_at_[key]};
}

// Empty when the launcher's arguments lie where the kernel takes its own; CUDA tells since 12.4.
// More is not asked for than the launcher gives: what fails, a sanitizer would report.
std::string Modules::argument_mismatch(const LoadedFunction& function,
                                       const KernelArguments& arguments) {
  if (arguments.is_segment() || !driver().get_parameter.is_there()) return {};
  const auto offsets = arguments.offsets();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    std::size_t at = 0, bytes = 0;
    if (streams_.attempt(driver().get_parameter, function.handle, i, &at, &bytes) != 0) {
      return fmt::format("kernel {} takes {} arguments, got {}", function.symbol, i,
                         offsets.size());
    }
    const bool is_last = i + 1 == offsets.size();
    const std::size_t size = (is_last ? arguments.bytes().size() : offsets[i + 1]) - offsets[i];
    if (offsets[i] == at && (is_last ? size == bytes : size >= bytes)) continue;
    return fmt::format(
        "argument {} of kernel {} is at byte {} with {} bytes; the code object wants it at {} with "
        "{}",
        i, function.symbol, offsets[i], size, at, bytes);
  }
  return {};
}

Outcome Modules::ask_for_shared(LoadedFunction& function, std::uint32_t bytes) {
  if (bytes <= function.dynamic_bytes || !driver().set_function_attribute.is_there()) return Done{};
  const auto& call = driver().set_function_attribute;
  const Code code =
      streams_.attempt(call, function.handle, kMaxDynamicShared, static_cast<int>(bytes));
  if (code == kInvalidValue) {
    return Trouble{TroubleKind::kRefused,
                   fmt::format("kernel {} asks for {} bytes of dynamic shared memory: {}",
                               function.symbol, bytes, error_text(driver(), call.name, code))};
  }
  if (code == 0) function.dynamic_bytes = bytes;
  return streams_.check(call.name, code);
}

Result<const LoadedFunction*> Modules::ready(Function function, const LaunchConfig& config,
                                             const KernelArguments& arguments) {
  if (function.id < 0 || function.id >= static_cast<int>(functions_.size())) {
    return usage("no such function");
  }
  LoadedFunction& loaded = functions_[static_cast<std::size_t>(function.id)];
  if (auto why = argument_mismatch(loaded, arguments); !why.empty()) {
    return Trouble{TroubleKind::kRefused, std::move(why)};
  }
  if (const Outcome o = ask_for_shared(loaded, config.dynamic_lds_bytes); !o.ok())
    return o.trouble();
  return &loaded;
}

}  // namespace attest::gpu_driver

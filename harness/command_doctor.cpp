#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "harness/commands.hpp"
#include "harness/core/kernel.hpp"
#include "harness/device/device_list.hpp"
#include "harness/machine.hpp"

namespace attest {
namespace {

struct Finding {
  std::string what;
  bool here = false;
  bool needed = false;  // for `attest nightly --tier smoke` on the chosen device
  std::string text;     // where it is, or how to get it
};

constexpr std::int64_t kGib = std::int64_t{1} << 30;
// Of the largest suite, prefix_boundary: inputs on host and device, partials, reference.
constexpr std::int64_t kWantedMemory = 4 * kGib;

Finding program(const std::string& name, const std::string& package) {
  const std::string path = find_program(name);
  return {name, !path.empty(), false, path.empty() ? package : path};
}

Finding memory() {
  const std::int64_t available = available_memory_bytes();
  return {
      "memory", available < 0 || available >= kWantedMemory, false,
      fmt::format("{:.1f} GiB available of {:.1f}; the real suites want {}",
                  static_cast<double>(available) / kGib, static_cast<double>(memory_bytes()) / kGib,
                  fmt::format("{} GiB", kWantedMemory / kGib))};
}

// The target of a device's code objects, by its name; empty for devices that are not opened here.
std::string target_of(const CommonOptions& common) {
  const auto device = open_device(common.device, {.threads = 1});
  return device.ok() ? (*device)->target() : std::string{};
}

Finding code_object(const CommonOptions& common, const Kernel& kernel, const std::string& target) {
  const std::string path = common.code_objects + "/" + kernel.code_object(target);
  const bool here = std::filesystem::is_regular_file(path);
  return {fmt::format("{} for {}", kernel.name(), target), here, true,
          here ? path
               : path +
                     " is missing: build the target mla_decode_code_objects, or give "
                     "--code-objects DIR"};
}

std::vector<Finding> findings(const CommonOptions& common) {
  std::vector<Finding> found = {
      program("clang++-19",
              "the compiler of host and kernels: apt install clang-19 (apt.llvm.org on Ubuntu)"),
      program("ld.lld-19", "links code objects: apt install lld-19"),
      program("nvcc", "only for sm_90 builds: NVIDIA's CUDA toolkit"), memory()};
  for (const DeviceInfo& device : list_devices()) {
    found.push_back({device.name, device.available, device.name == common.device,
                     device.available ? device.description : device.how_to_get});
  }
  if (const std::string target = target_of(common); !target.empty()) {
    for (const Kernel* kernel : all_kernels())
      found.push_back(code_object(common, *kernel, target));
  } else {
    found.push_back(
        {common.device, false, true, open_device(common.device, {.threads = 1}).trouble().text});
  }
  return found;
}

}  // namespace

int command_doctor(const CommonOptions& common) {
  const std::vector<Finding> found = findings(common);
  bool complete = true;
  nlohmann::ordered_json json = {{"machine", machine_text()},
                                 {"findings", nlohmann::ordered_json::array()}};
  if (!common.json) fmt::print("machine   {}\n", machine_text());
  for (const Finding& f : found) {
    complete &= f.here || !f.needed;
    json["findings"].push_back(
        {{"what", f.what}, {"here", f.here}, {"needed", f.needed}, {"text", f.text}});
    const char* const state = f.here ? "here" : f.needed ? "MISSING" : "not here";
    if (!common.json) fmt::print("{:<9} {}: {}\n", state, f.what, f.text);
  }
  json["complete"] = complete;
  if (common.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    fmt::print("{}\n", complete ? "all that this device needs is here"
                                : "something that this device needs is missing");
  }
  return complete ? 0 : 4;
}

}  // namespace attest

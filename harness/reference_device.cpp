#include "harness/reference_device.hpp"

#include <filesystem>
#include <memory>
#include <utility>

#include "harness/device/device_list.hpp"
#include "reference/gpu/gpu_reference.hpp"
#include "reference/reference.hpp"

namespace attest {
namespace {

// A folder of a mutant's code objects holds no build of the reference.
std::string folder_with(const std::string& code_object, const std::string& folder) {
  std::error_code none;
  return std::filesystem::exists(folder + "/" + code_object, none) ? folder
                                                                   : ATTEST_CODE_OBJECT_DIR;
}

Result<std::unique_ptr<GpuReference>> open(const CommonOptions& common) {
  auto device = open_device(common.device, {.threads = common.threads});
  if (!device.ok()) return device.trouble();
  const std::string folder =
      folder_with(GpuReference::code_object((*device)->target()), common.code_objects);
  return GpuReference::make(std::move(*device), folder);
}

}  // namespace

ReferenceDevice reference_device(const CommonOptions& common) {
  const bool wanted = common.reference == "device" ||
                      (common.reference == "auto" && !common.device.starts_with("emu:"));
  if (!wanted) return {};
  ReferenceDevice made;
  made.from_tokens = common.reference == "device" ? 0 : kTokensForDevice * common.threads;
  made.open = [common,
               kept =
                   std::make_shared<std::unique_ptr<GpuReference>>()]() -> Result<GpuReference*> {
    if (*kept == nullptr) {
      auto opened = open(common);
      if (!opened.ok()) return opened.trouble();
      *kept = std::move(*opened);
    }
    return kept->get();
  };
  return made;
}

}  // namespace attest

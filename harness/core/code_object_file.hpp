// The file of a kernel's build for a device's target, as cmake/hip_code_objects.cmake names it.
#pragma once
#include <string>
#include <string_view>

namespace attest {

// "mla_decode.gfx942.co", "mla_decode.sm_90.cubin".
inline std::string code_object_file(std::string_view name, std::string_view target) {
  const std::string_view ending = target.starts_with("sm_") ? "cubin" : "co";
  return std::string(name).append(".").append(target).append(".").append(ending);
}

}  // namespace attest

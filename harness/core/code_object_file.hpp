// The file of a kernel's build for a device's target, as cmake/hip_code_objects.cmake names it.
#pragma once
#include <string>
#include <string_view>

namespace attest {

// Whose GPU runs code for a target: "sm_90", or "gfx942".
inline bool is_nvidia(std::string_view target) { return target.starts_with("sm_"); }

// "mla_decode.gfx942.co", "mla_decode.sm_90.cubin".
inline std::string code_object_file(std::string_view name, std::string_view target) {
  const std::string_view ending = is_nvidia(target) ? "cubin" : "co";
  return std::string(name).append(".").append(target).append(".").append(ending);
}

}  // namespace attest

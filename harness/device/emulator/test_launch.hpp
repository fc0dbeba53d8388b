// For the emulator's tests: code objects by name, and lines of the test kernels' source.
#pragma once
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/device/emulator/code_object.hpp"
#include "harness/device/emulator/executor.hpp"

namespace attest::emulator {

// "gfx942", "gfx90a", or "preload": gfx942 with arguments preloaded into SGPRs.
inline std::string test_kernels(std::string_view build) {
  return std::string(ATTEST_TEST_KERNELS_DIR) + "/test_kernels." + std::string(build) + ".co";
}
inline std::string mla_decode_object(std::string_view target) {
  return std::string(ATTEST_CODE_OBJECT_DIR) + "/mla_decode." + std::string(target) + ".co";
}

inline std::vector<std::byte> file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_FALSE(text.empty()) << path;
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

// "test_kernels.hip:81:" for the line that has these words.
inline std::string line_with(std::string_view words) {
  std::ifstream source(std::string(ATTEST_SOURCE_DIR) +
                       "/harness/device/emulator/test_kernels.hip");
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    if (line.find(words) != line.npos) return "test_kernels.hip:" + std::to_string(number) + ":";
  }
  ADD_FAILURE() << "no line with " << words;
  return {};
}

inline const KernelInfo* find_kernel(const CodeObject& object, std::string_view name) {
  for (const KernelInfo& kernel : object.kernels()) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

}  // namespace attest::emulator

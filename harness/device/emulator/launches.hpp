// For tests of launches: the test kernels on memory of their own.
#pragma once
#include <cstring>
#include <numeric>

#include "harness/device/emulator/test_launch.hpp"

namespace attest::emulator {

using Words = std::vector<std::uint32_t>;
inline constexpr std::uint16_t kFill = 0xdead;

inline Words counting(std::size_t count, std::uint32_t from = 0) {
  Words words(count);
  std::iota(words.begin(), words.end(), from);
  return words;
}

// One build of the test kernels and the memory that they run on.
class Launches {
 public:
  explicit Launches(const std::string& build) {
    auto object = CodeObject::load(test_kernels(build), build == "preload" ? "gfx942" : build);
    EXPECT_TRUE(object.ok()) << object.trouble().text;
    if (object.ok()) object_ = *object;
    options.threads = 2;
  }

  Buffer buffer(const std::string& label, std::size_t words, const Words& values = {}) {
    auto made = memory.allocate(label, words * 4, kFill);
    EXPECT_TRUE(made.ok());
    if (!values.empty())
      std::memcpy(reinterpret_cast<void*>(made->address), values.data(), values.size() * 4);
    return *made;
  }
  static Words words(const Buffer& buffer) {
    const auto* begin = reinterpret_cast<const std::uint32_t*>(buffer.address);
    return {begin, begin + buffer.bytes / 4};
  }
  Result<RunStatistics> launch(std::string_view name, Dim3 grid, Dim3 block,
                               const KernelArguments& arguments) {
    return launch(name, LaunchConfig{grid, block, 0}, arguments);
  }
  Result<RunStatistics> launch(std::string_view name, const LaunchConfig& config,
                               const KernelArguments& arguments) {
    const KernelInfo* kernel = object_ ? find_kernel(*object_, name) : nullptr;
    if (!kernel) return Trouble{TroubleKind::kUsage, "no kernel " + std::string(name)};
    auto program = decode(object_, *kernel);
    if (!program.ok()) return program.trouble();
    return run(**program, memory, config, arguments.bytes(), options);
  }

  Memory memory;
  RunOptions options;

 private:
  std::shared_ptr<const CodeObject> object_;
};

inline void expect_done(const Result<RunStatistics>& result, std::uint64_t workgroups) {
  ASSERT_TRUE(result.ok()) << result.trouble().text;
  EXPECT_EQ(result->workgroups, workgroups);
  EXPECT_GE(result->wave_instructions, workgroups);
}
inline void expect_trouble(const Result<RunStatistics>& result, TroubleKind kind,
                           const std::vector<std::string>& words) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.trouble().kind, kind) << result.trouble().text;
  for (const std::string& word : words)
    EXPECT_NE(result.trouble().text.find(word), std::string::npos)
        << "no '" << word << "' in: " << result.trouble().text;
}

}  // namespace attest::emulator

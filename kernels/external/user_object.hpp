// Where the code objects are that a user brings: attest ships none of them.
#pragma once
#include <string>
#include <string_view>

#include "harness/core/trouble.hpp"

namespace attest::external {

inline constexpr std::string_view kObjectVariable = "ATTEST_AITER_HSA";

// A code object, or a folder of them; empty: what the environment variable says. Of this process.
void set_user_objects(std::string path);
std::string user_objects();

// The file of this name below `path`: `path` itself when it is a file; else in it, or in
// gfx942/mla, or hsa/gfx942/mla below it. Trouble kUsage says which option to give.
Result<std::string> find_user_object(std::string_view file, const std::string& path);

}  // namespace attest::external

// The cases of the golden values that attest ships (golden/README.md).
#pragma once
#include <span>
#include <string_view>

namespace attest {

std::span<const std::string_view> golden_suite();

}  // namespace attest

// The suite of the adapters in kernels/external: the same questions to each object, in the shapes that
// it takes.
#pragma once
#include <span>
#include <string_view>

namespace attest {

std::span<const std::string_view> external_suite();  // canonical tokens

}  // namespace attest

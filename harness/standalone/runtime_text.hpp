// The parts of a standalone program that are the same in each.
#pragma once
#include <string_view>

namespace attest {

// Declarations of HIP, buffers, launches and checks. It wants kStops, kGuardBytes before it.
extern const std::string_view kRuntimeText;
// Captured graphs: only in a program that has some.
extern const std::string_view kGraphText;
// Data from a file beside the program: only where it is too large for literals.
extern const std::string_view kDataFileText;

// How a program's last line begins, by what it saw.
inline constexpr std::string_view kFailsAsRecorded = "FAILS as recorded";
inline constexpr std::string_view kFailsOtherwise = "FAILS, but not as recorded";

}  // namespace attest

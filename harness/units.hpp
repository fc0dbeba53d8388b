// Quantities as they are typed.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace attest {

std::optional<double> parse_seconds(std::string_view text);      // 90s, 30m, 8h; bare: seconds
std::optional<std::int64_t> parse_bytes(std::string_view text);  // 512M, 4G, of 1024; bare: bytes

}  // namespace attest

// What `attest detect` found, as tables and as a verdict.
#pragma once
#include <string>
#include <string_view>

#include "harness/detect.hpp"

namespace attest {

std::string detect_markdown(const Detection& detection, std::string_view command);
std::string detect_json(const Detection& detection, std::string_view command);

// Holes of our own gates: defects that no distribution shows at a length where they have an effect,
// and correct kernels that they reject. One line each; none when the portfolio is complete.
std::vector<std::string> detect_holes(const Detection& detection);

}  // namespace attest

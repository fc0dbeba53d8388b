#include "harness/core/arith.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace attest {
namespace {

struct Row {
  std::string_view name, statement;
  MatrixUnit unit;
};
constexpr std::array<Row, kAriths.size()> kRows = {{
    {"fma", "matrix unit: a chain of fp32 FMAs over k", MatrixUnit::kSequentialFma},
    // One rounding is less than the chain's.
    {"exact", "matrix unit: exact sums, rounded once", MatrixUnit::kSequentialFma},
    {"cdna2", "matrix unit: MI200's sums by pairs, subnormals flushed", MatrixUnit::kCdna2Bf16},
    {"cdna3", "matrix unit: MI300's aligned and truncated sums", MatrixUnit::kCdna3Bf16},
    {"adversarial", "the farthest of these to one side; transcendentals off by up to an ulp",
     MatrixUnit::kUnknown},
}};
const Row& row_of(Arith arith) { return kRows[static_cast<std::size_t>(arith)]; }

}  // namespace

std::string_view to_string(Arith arith) { return row_of(arith).name; }
std::string_view statement(Arith arith) { return row_of(arith).statement; }
MatrixUnit matrix_unit_of(Arith arith) { return row_of(arith).unit; }

Result<std::vector<Arith>> parse_ariths(std::string_view text) {
  if (text == "all") return std::vector<Arith>(kAriths.begin(), kAriths.end());
  std::vector<Arith> ariths;
  while (true) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, end);
    const auto found = std::find_if(kAriths.begin(), kAriths.end(),
                                    [&](Arith a) { return to_string(a) == name; });
    if (found == kAriths.end()) {
      return Trouble{TroubleKind::kUsage,
                     fmt::format("'{}' is no arithmetic; there are: fma, exact, cdna2, cdna3, "
                                 "adversarial, all",
                                 name)};
    }
    if (std::find(ariths.begin(), ariths.end(), *found) == ariths.end()) ariths.push_back(*found);
    if (end == text.size()) return ariths;
    text.remove_prefix(end + 1);
  }
}

}  // namespace attest

// What differs between two texts of to_text(Contract), of which one may come from an older attest.
#pragma once
#include <string>

namespace attest {

// "p_bits 8 -> 24, merge max_first -> sequential": in the order of `before`, then what `after`
// alone has; empty when both say the same.
std::string contract_changes(const std::string& before, const std::string& after);

}  // namespace attest

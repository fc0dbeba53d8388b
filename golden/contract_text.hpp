// A Contract as one line of text, so that a golden file can say what of it changed.
#pragma once
#include <string>

#include "harness/core/contract.hpp"

namespace attest {

// Every field as "name=value", in a fixed order; numbers in the shortest text that gives them back.
std::string contract_text(const Contract& contract);

// "p_bits 8 -> 24, merge max_first -> sequential"; empty when both say the same.
std::string contract_changes(const std::string& before, const std::string& after);

}  // namespace attest

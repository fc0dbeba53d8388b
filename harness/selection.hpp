// Which cases a command runs.
#pragma once
#include <string>
#include <vector>

#include "harness/core/case.hpp"

namespace attest {

struct Selection {
  std::vector<std::string> tokens;
  std::vector<std::string> suites;
  std::string match;  // glob over the whole token when it has *, ? or [; else a part of it; alone:
                      // over all suites
  std::string corpus = {};  // folder of failures that were kept (corpus.hpp): run first
};

// Those of the corpus, then in the order given, each once. Trouble kUsage: a malformed token, an
// unknown suite, kernel or distribution.
Result<std::vector<Case>> select_cases(const Selection& selection);

// The case of a token whose kernel and distribution exist.
Result<Case> known_case(std::string_view token);

// Trouble kUsage that lists those there are.
Trouble unknown_distribution(std::string_view name);
Trouble unknown_kernel(std::string_view name);
Trouble unknown_property(std::string_view name);

}  // namespace attest

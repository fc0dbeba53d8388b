// The console: a line a case, and what is wrong with it, for people.
#pragma once
#include <cstdio>
#include <memory>

#include "reports/reporter.hpp"
#include "reports/run/colour.hpp"

namespace attest {

struct ConsoleOptions {
  Colour colour = Colour::kAuto;
  // Every case and remark, however many there are. Else, of more cases than kMostListed and of
  // those that are drawn: those alone that did not pass.
  bool verbose = false;
};
inline constexpr int kMostListed = 200;

// Verdicts go to `to`, which stays the caller's; progress to stderr.
std::unique_ptr<Reporter> make_console_reporter(std::FILE* to, const ConsoleOptions& options);

}  // namespace attest

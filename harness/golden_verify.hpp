// Whether a golden file is what its tokens say today: inputs and contracts by digest and text, the
// error that it states by what generate would state, and rows by an oracle that shares nothing with
// the one that made them; their magnitudes by what made them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"

namespace attest {

struct GoldenVerifyOptions {
  int threads = 1;
  std::uint64_t seed = 0;  // of the sample
  bool all = false;        // every row
  // Rows that see more tokens are left to the streaming oracle: 50 digits take 0.3 ms a token.
  int most_tokens_of_digits = 8192;
};

struct GoldenDisagreement {
  std::string token;
  std::string text;  // what, where, both values
};

struct GoldenReport {
  int cases = 0;
  std::int64_t rows = 0;       // of all cases
  std::int64_t by_digits = 0;  // recomputed in 50 digits
  std::int64_t by_stream = 0;  // too long for that: by the streaming oracle alone
  double largest = 0;          // disagreement of a value, in units of the stated error
  std::vector<GoldenDisagreement> disagreements;
  bool proves_something() const { return by_digits + by_stream > 0 || !disagreements.empty(); }
};

// About one row in a hundred, at least one of each case. Trouble kUsage: a token that names what is
// not here; kInfra: no memory.
Result<GoldenReport> verify_golden(const GoldenFile& file, const GoldenVerifyOptions& options);

}  // namespace attest

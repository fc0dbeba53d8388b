// What a golden file holds of a case, computed: its inputs from the generator or from a capture,
// values by the streaming oracle, magnitudes in fp64.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/golden_file.hpp"
#include "harness/core/case.hpp"
#include "harness/core/inputs.hpp"
#include "reference/streaming_oracle.hpp"

namespace attest {

// Their numbers are raised when inputs, or values, are meant to change.
inline constexpr const char* kGeneratorVersion = "attest generator 1";
inline constexpr const char* kReferenceVersion = "double-double streaming oracle 1";

struct GoldenInputs {
  Case c;
  Inputs inputs;
  std::vector<GoldenCase::Captured> captured;  // empty: they come from the generator
};

// Trouble kUsage: a case that is more than one launch, or of a kernel or distribution that is not
// here.
Result<GoldenInputs> generated_inputs(const Case& c, int threads);
// Of a file of `attest export`, whose numbers may have been replaced by others. Trouble kUsage: the
// path and what does not fit its token.
Result<GoldenInputs> captured_inputs(const std::string& path);
// As one of these, for a case of a golden file.
Result<GoldenInputs> inputs_of_golden(const GoldenCase& golden, int threads);

// XXH3-128 of q, whole; of the pages that sequences use, whole, in the order of their numbers; of
// the lengths and entries of qo_indptr, kv_indptr, kv_indices, kv_last_page_len.
struct InputDigests {
  std::string q, kv, tables;
};
InputDigests digests_of(const Problem& problem, const Inputs& inputs);

struct RowMagnitudes {
  std::array<double, kDV> sum_a_abs_v{}, sum_a_dev{}, sum_aa_vv{}, sum_a_spread_dev{};
  std::array<double, kFactsOfRowCount> of_row{};
  int visible = 0;
  double spread_max() const { return of_row[5]; }
};
RowMagnitudes magnitudes_of(const Problem& problem, const Inputs& inputs, std::int64_t row,
                            const StreamedRow& exact);

// Bound on the error of the streaming oracle, of o over sum a|v| and of lse over max(1, |lse|).
double streaming_error(int visible, double spread_max);
// The largest of all rows: what generate states. Trouble kInfra: no memory.
Result<double> stated_error(const Problem& problem, const Inputs& inputs, int threads);

// GoldenCase::row_digests, of one row.
std::array<std::uint8_t, 16> digest_of_row(const StreamedRow& row);

// Trouble kInfra: no memory.
Result<GoldenCase> make_golden(const GoldenInputs& from, bool digests_only, int threads);

}  // namespace attest

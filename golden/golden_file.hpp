// The golden store: what the formula gives for a list of cases, in double-double, and what its
// bounds are made of; golden/README.md shows it to readers. The only writer of such files. Nothing
// of the time, host, user or path is in them, and the same content gives the same bytes (with one
// version of HDF5; the digests are the same with all).
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "golden/hdf5_file.hpp"
#include "harness/core/problem.hpp"

namespace attest {

inline constexpr std::int64_t kGoldenFormat = 1;  // of the file
// How much of a value is kept: o and lse are pairs of doubles.
inline constexpr std::int64_t kReferenceBits = 106;

// x_j: scores in natural units; a_j = e^(x_j - lse); spread_j = |sm_scale| sum |q k_j|.
// What of_row holds; of a row that sees no token all are 0.
inline constexpr std::string_view kFactsOfRow =
    "x_min x_max sum_a_x sum_a_abs_x sum_a_spread spread_max sum_aa";
inline constexpr int kFactsOfRowCount = 7;

// One case. Its values are kept whole, or, where `row_digests` is not empty, as digests alone.
//
// From the magnitudes follow, of the terms of T0 (reference/error_bound.md) and to first order,
//   exactly, of o: Q.K accumulation (sum_a_spread_dev), P rounded (sum_a_abs_v; sum_a_dev where l
//   sums rounded P), P.V accumulation (sum_a_abs_v), what exp2 and rescales do to every weight
//   (sum_a_dev), the denominator (|o|);
//   exactly, of lse: Q.K accumulation (sum_a_spread), logit rounding (sum_a_abs_x), the argument of
//   exp2 (x_max - sum_a_x), the stored lse (x_max, lse);
//   from above, of o: logit rounding (largest |x| times sum_a_dev), the argument of exp2 (x_max -
//   x_min times sum_a_dev); the variances of T1 (sum_aa_vv).
// Not: rescales that a schedule saves, P below its format's least normal, what the merge adds.
struct GoldenCase {
  std::string token;      // canonical
  std::string source;     // "generator", or "capture": then `captured` holds the inputs
  std::string generator;  // of inputs: name and version
  std::string reference;  // of values: kind and version
  std::string contract;   // to_text(Contract)
  std::string digest_q, digest_kv,
      digest_tables;  // of inputs: harness/golden_make.hpp says of what
  double error = 0;   // of o over sum_a_abs_v, of lse over max(1, |lse|); 0 where digests are all

  std::vector<double> o_hi, o_lo;      // [rows, 512]: o = o_hi + o_lo
  std::vector<double> lse_hi, lse_lo;  // [rows] natural logarithm; -inf: sees no token
  // [rows, 512], to 24 bits: sum a|v|, sum a|v - o|, sum a^2 v^2, sum a spread |v - o|
  std::vector<double> sum_a_abs_v, sum_a_dev, sum_aa_vv, sum_a_spread_dev;
  std::vector<double> of_row;  // [rows, 7], to 24 bits
  // [rows, 16] XXH3-128 of a row's o_hi, o_lo, lse_hi; not of lse_lo, whose last bits come from the
  // C library's logarithm.
  std::vector<std::uint8_t> row_digests;

  struct Captured {
    std::string name, dtype;  // "q", "bfloat16"
    StoredTensor tensor;
    bool operator==(const Captured&) const = default;
  };
  std::vector<Captured> captured;  // sorted by name

  bool has_values() const { return row_digests.empty(); }
  std::int64_t rows() const {
    return static_cast<std::int64_t>(has_values() ? lse_hi.size() : row_digests.size() / 16);
  }
  bool operator==(const GoldenCase&) const = default;
};

// GoldenCase::row_digests, of one row.
std::array<std::uint8_t, 16> row_digest(std::span<const double> o_hi, std::span<const double> o_lo,
                                        double lse_hi);
// Of all rows: as they are kept, or of the values.
std::vector<std::uint8_t> digests_of_rows(const GoldenCase& c);

// A dataset of doubles; `columns` 1: [rows].
struct GoldenField {
  const char* name;
  std::vector<double> GoldenCase::*values;
  int columns;
  bool is_value;  // o or lse; else a magnitude
};
std::vector<GoldenField> golden_fields();

struct GoldenFile {
  std::string reason;   // of the last regeneration: "first", or classes of golden_diff.hpp
  std::string changed;  // what it changed
  std::vector<GoldenCase> cases;  // each token once
  std::int64_t rows() const;
  bool operator==(const GoldenFile&) const = default;
};

// The name of a case's group: 12 hexadecimal digits that its token alone decides.
std::string golden_id(std::string_view token);

// Trouble kInfra: the path and what cannot be written.
Outcome write_golden(const GoldenFile& file, const std::string& path);
// Cases in the order of their groups. Trouble kUsage: the path and what in it is not whole, not as
// it was written, or of another format.
Result<GoldenFile> read_golden(const std::string& path);

}  // namespace attest

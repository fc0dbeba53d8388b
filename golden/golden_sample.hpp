// A small golden file with made-up numbers, for tests.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "golden/golden_file.hpp"
#include "harness/core/case.hpp"

namespace attest {

inline GoldenCase sample_case(const std::string& token) {
  GoldenCase c;
  c.token = token;
  c.source = "generator";
  c.generator = "generator 1";
  c.reference = "reference 1";
  c.contract = "p_bits=8 merge=max_first";
  c.digest_q = std::string(32, '1'), c.digest_kv = std::string(32, '2');
  c.digest_tables = std::string(32, '3');
  c.error = 1e-28;
  const auto rows = static_cast<std::size_t>(parse_token(token)->problem.rows());
  double value = 1;
  for (const GoldenField& field : golden_fields()) {
    for (std::size_t i = 0; i < rows * static_cast<std::size_t>(field.columns); ++i)
      (c.*field.values).push_back(std::sin(value += 1.25));
  }
  for (double& low : c.o_lo) low *= 0x1p-60;
  for (double& low : c.lse_lo) low *= 0x1p-60;
  for (double& magnitude : c.sum_a_abs_v) magnitude = 1 + std::fabs(magnitude);
  c.lse_hi.back() = -std::numeric_limits<double>::infinity();
  return c;
}

inline GoldenCase sample_of_digests(const std::string& token) {
  GoldenCase c = sample_case(token);
  c.error = 0;
  c.row_digests = digests_of_rows(c);
  for (const GoldenField& field : golden_fields()) (c.*field.values).clear();
  return c;
}

inline GoldenCase sample_capture(const std::string& token) {
  GoldenCase c = sample_case(token);
  c.source = "capture";
  c.captured = {{"kv", "bfloat16", {Number::kU16, {2, 3}, std::vector<std::byte>(12)}},
                {"q", "float8_e4m3fnuz", {Number::kU8, {5}, std::vector<std::byte>(5)}}};
  c.captured[0].tensor.bytes[3] = std::byte{9};
  return c;
}

// In the order of their groups, as a file is read.
inline GoldenFile sample_file() {
  GoldenFile file{"first", "all of it is new", {}};
  file.cases = {sample_case("v1:k=a:h=2"), sample_of_digests("v1:k=a:h=3"),
                sample_capture("v1:k=a:h=1")};
  std::sort(file.cases.begin(), file.cases.end(), [](const GoldenCase& a, const GoldenCase& b) {
    return golden_id(a.token) < golden_id(b.token);
  });
  return file;
}

}  // namespace attest

// The golden files that attest ships: whole, complete, and what `attest golden generate` makes
// today.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "fuzz/distributions/distribution.hpp"
#include "fuzz/problems/suites.hpp"
#include "golden/golden_diff.hpp"
#include "harness/core/kernel.hpp"
#include "harness/generate.hpp"
#include "harness/golden_make.hpp"
#include "harness/golden_verify.hpp"
#include "harness/oracle_verdict.hpp"
#include "reference/certify.hpp"

namespace attest {
namespace {

constexpr const char* kValues = ATTEST_SOURCE_DIR "/golden/values.h5";
constexpr const char* kSmoke = ATTEST_SOURCE_DIR "/golden/smoke_hashes.h5";
constexpr const char* kLong = ATTEST_SOURCE_DIR "/golden/long_hashes.h5";
constexpr std::uintmax_t kMostBytes = 5'000'000;  // of all shipped golden files

GoldenFile read(const char* path) {
  const auto file = read_golden(path);
  EXPECT_TRUE(file.ok()) << file.trouble().text;
  return file.ok() ? *file : GoldenFile{};
}

std::set<std::string> tokens_of(std::initializer_list<const char*> suites) {
  std::set<std::string> tokens;
  for (const char* name : suites) {
    const Suite* const suite = find_suite(name);
    tokens.insert(suite->tokens.begin(), suite->tokens.end());
  }
  return tokens;
}
std::set<std::string> tokens_of(const GoldenFile& file) {
  std::set<std::string> tokens;
  for (const GoldenCase& c : file.cases) tokens.insert(c.token);
  return tokens;
}

// "regenerate: ..." of a file whose cases are those of suites.
std::string again(const char* path, const std::string& options) {
  return "if that is meant: ./attest golden generate " + options + " --out golden/" +
         std::filesystem::path(path).filename().string() + " --reason ... (see golden/README.md)";
}

TEST(ShippedGolden, HoldsEachCaseOfItsSuites) {
  EXPECT_EQ(tokens_of(read(kValues)), tokens_of({"golden"})) << again(kValues, "--suite golden");
  EXPECT_EQ(tokens_of(read(kSmoke)), tokens_of({"smoke"}))
      << again(kSmoke, "--suite smoke --hashes-only");
  EXPECT_EQ(tokens_of(read(kLong)), tokens_of({"ragged", "prefix_boundary"}))
      << again(kLong, "--suite ragged --suite prefix_boundary --hashes-only");
}

TEST(ShippedGolden, StaysSmall) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ATTEST_SOURCE_DIR "/golden")) {
    if (entry.path().extension() == ".h5") bytes += entry.file_size();
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, kMostBytes);
}

// Values of the same inputs may differ where the C library's logarithm rounds otherwise: in lse_lo
// alone, and within the stated error.
TEST(ShippedGolden, IsWhatGenerateMakesToday) {
  const GoldenFile shipped = read(kValues);
  GoldenFile today;
  for (const GoldenCase& c : shipped.cases) {
    const auto from = inputs_of_golden(c, 2);
    ASSERT_TRUE(from.ok()) << from.trouble().text;
    today.cases.push_back(*make_golden(*from, false, 2));
  }
  for (const CaseDiff& c : diff_golden(shipped, today).cases)
    EXPECT_NE(c.moved, Moved::kChanged) << c.token << ": " << c.detail << "\n"
                                        << again(kValues, "--suite golden");
  for (std::size_t i = 0; i < shipped.cases.size(); ++i) {
    EXPECT_EQ(today.cases[i].o_hi, shipped.cases[i].o_hi) << shipped.cases[i].token;
    EXPECT_EQ(today.cases[i].o_lo, shipped.cases[i].o_lo) << shipped.cases[i].token;
    EXPECT_EQ(today.cases[i].lse_hi, shipped.cases[i].lse_hi) << shipped.cases[i].token;
  }
}

TEST(ShippedGolden, ValuesAgreeWithFiftyDigitsInEveryRow) {
  const auto report = verify_golden(read(kValues), {.threads = 2, .all = true});
  ASSERT_TRUE(report.ok()) << report.trouble().text;
  for (const GoldenDisagreement& d : report->disagreements) ADD_FAILURE() << d.token << d.text;
  EXPECT_EQ(report->by_digits, report->rows);
}

// One row of each case of the smoke tier by its digest and in 50 digits. Of the long ones this
// takes seconds a case: ./attest golden verify golden/long_hashes.h5
TEST(ShippedGolden, DigestsOfTheSmokeTierAreTodays) {
  const auto report = verify_golden(read(kSmoke), {.threads = 2, .most_tokens_of_digits = 300});
  ASSERT_TRUE(report.ok()) << report.trouble().text;
  for (const GoldenDisagreement& d : report->disagreements) ADD_FAILURE() << d.token << d.text;
  EXPECT_EQ(report->cases, static_cast<int>(find_suite("smoke")->tokens.size()));
}

// What golden files are for: the fp64 reference that judges kernels, held to values that it did not
// make, within the error that it states for itself.
TEST(ShippedGolden, HoldsTheReferenceToItsOwnStatedError) {
  int rows = 0;
  for (const GoldenCase& c : read(kValues).cases) {
    const auto from = inputs_of_golden(c, 2);
    ASSERT_TRUE(from.ok()) << from.trouble().text;
    const Problem& p = from->c.problem;
    const Kernel& kernel = *find_kernel(from->c.kernel);
    Contract contract = kernel.contract(p);
    contract.arithmetic.matrix_unit = unit_for(MatrixUnit::kCdna3Bf16, p.q_type);
    // Tiles that go round the splits move partial results alone.
    const int splits = contract.split_rule.dealt_tile == 0 ? kernel.num_splits(p) : 1;
    contract.split_rule.dealt_tile = 0;
    const auto wanted =
        reference(p, from->inputs, contract, splits, {.threads = 2, .detail = Detail::kT0});
    ASSERT_TRUE(wanted.ok()) << wanted.trouble().text;
    const Bound& t0 = wanted->tiers.t0;
    for (std::int64_t row = 0; row < p.rows(); ++row) {
      const double lse = wanted->expected.lse[row], t0_lse = t0.lse[row];
      if (std::isinf(c.lse_hi[row])) {
        EXPECT_EQ(lse, c.lse_hi[row]) << c.token << " row " << row;
        continue;
      }
      ++rows;
      EXPECT_LE(std::fabs(lse - c.lse_hi[row] - c.lse_lo[row]), own_error_of_lse(t0_lse))
          << c.token << " row " << row;
      for (std::int64_t at = row * kDV; at < (row + 1) * kDV; ++at)
        ASSERT_LE(std::fabs(wanted->expected.o[at] - c.o_hi[at] - c.o_lo[at]),
                  own_error_of_o(t0.o[at], t0_lse))
            << c.token << " row " << row << " column " << at % kDV;
    }
  }
  EXPECT_GT(rows, 50);
}

std::vector<Case> golden_cases() {
  std::vector<Case> cases;
  for (const std::string_view token : find_suite("golden")->tokens)
    cases.push_back(*parse_token(token));
  return cases;
}

TEST(GoldenSuite, HasEveryKernelAndEveryDistribution) {
  std::set<std::string_view> kernels, distributions;
  const std::vector<Case> cases = golden_cases();
  for (const Case& c : cases) {
    kernels.insert(c.kernel);
    distributions.insert(c.distribution);
  }
  for (const Kernel* kernel : all_kernels())
    EXPECT_TRUE(kernels.contains(kernel->name())) << kernel->name();
  for (const Distribution* d : all_distributions())
    EXPECT_TRUE(distributions.contains(d->name())) << d->name();
}

TEST(GoldenSuite, HasEveryRegime) {
  const std::vector<Case> cases = golden_cases();
  const auto some = [&](auto&& is) {
    return std::any_of(cases.begin(), cases.end(), [&](const Case& c) {
      const Problem& p = c.problem;
      for (int seq = 0; seq < p.b(); ++seq) {
        if (is(p, p.s_kv[seq], p.s_q[seq])) return true;
      }
      return false;
    });
  };
  EXPECT_TRUE(some([](const Problem&, int s_kv, int) { return s_kv == 0; }));
  EXPECT_TRUE(some([](const Problem&, int s_kv, int) { return s_kv == 1; }));
  for (const int edge : {15, 16, 17, 63, 64, 65, 127, 128, 129})
    EXPECT_TRUE(some([=](const Problem&, int s_kv, int) { return s_kv == edge; })) << edge;
  for (const int page : {1, 16, 64})
    EXPECT_TRUE(some([=](const Problem& p, int, int) { return p.page_size == page; })) << page;
  for (const int splits : {1, 2, 64, 256})
    EXPECT_TRUE(some([=](const Problem& p, int, int) { return p.num_splits == splits; })) << splits;
  EXPECT_TRUE(some([](const Problem&, int s_kv, int s_q) { return s_q > 1 && s_kv > 64; }));
  EXPECT_TRUE(some([](const Problem&, int s_kv, int s_q) { return s_q > s_kv && s_kv > 0; }));
  EXPECT_TRUE(some([](const Problem&, int, int s_q) { return s_q == kMaxQueryTokens; }));
  EXPECT_TRUE(some([](const Problem& p, int, int) { return p.shared_prefix > 0; }));
  EXPECT_TRUE(some([](const Problem& p, int, int) { return p.sm_scale < 0; }));
  EXPECT_TRUE(some([](const Problem& p, int, int) { return p.sm_scale == 0; }));
  EXPECT_TRUE(some([](const Problem& p, int, int) { return p.q_type == Storage::kFp8; }));
  EXPECT_TRUE(some([](const Problem& p, int, int) {
    return p.q_type == Storage::kBf16 && p.kv_type == Storage::kFp8;
  }));
}

}  // namespace
}  // namespace attest

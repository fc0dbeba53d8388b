#include "harness/golden_make.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "harness/core/kernel.hpp"
#include "harness/exchange.hpp"
#include "harness/golden_verify.hpp"
#include "harness/input_tensors.hpp"
#include "reference/explain.hpp"

namespace attest {
namespace {

constexpr const char* kCapturedCase = "v1:k=mla_decode:h=2:s=20,3:q=2:page=16:splits=1:start=2";

GoldenCase made(const char* token, bool digests_only = false, int threads = 1) {
  const auto from = generated_inputs(*parse_token(token), threads);
  EXPECT_TRUE(from.ok()) << from.trouble().text;
  auto golden = make_golden(*from, digests_only, threads);
  EXPECT_TRUE(golden.ok());
  return std::move(*golden);
}

double term(const Explained& bound, std::string_view name) {
  for (const BoundTerm& t : bound.terms) {
    if (t.name.starts_with(name)) return t.value;
  }
  return 0;
}

// The terms of T0 that golden_file.hpp says the magnitudes give, against the slow way to the same
// bound. First order leaves out products of two errors: 1 % here, where P's is 2^-8.
TEST(GoldenMake, TermsOfT0FollowFromTheMagnitudes) {
  const char* const token = "v1:k=mla_decode:h=2:s=200:q=2:splits=1";
  const GoldenCase golden = made(token);
  const auto from = generated_inputs(*parse_token(token), 1);
  const Problem& p = from->c.problem;
  Contract contract = find_kernel("mla_decode")->contract(p);
  contract.arithmetic.matrix_unit = MatrixUnit::kSequentialFma;
  const double of_dot = 576 * 0x1p-24, u = 0x1p-24;
  for (std::int64_t row = 0; row < p.rows(); ++row) {
    const RowBounds bounds(p, from->inputs, contract, 1, row);
    const double* const facts = &golden.of_row[row * kFactsOfRowCount];
    const double sum_a_abs_x = facts[3], sum_a_spread = facts[4];
    const Explained lse = bounds.lse(Tier::kT0, -1);
    EXPECT_NEAR(term(lse, "Q.K accumulation") / (of_dot * sum_a_spread), 1, 0.01);
    EXPECT_NEAR(term(lse, "logit rounding") / (u * sum_a_abs_x), 1, 0.01);
    const Arithmetic& a = contract.arithmetic;
    const double of_exp2 = a.exp_ulp * 0x1p-23 * (a.waves_per_split > 1 ? 2 : 1);
    EXPECT_NEAR(term(lse, "exp2") / (of_exp2 + 5 * u * (facts[1] - facts[2])), 1, 0.01);
    // Factors that depend on the schedule are one number for all columns.
    const Explained first = bounds.o(Tier::kT0, -1, 0);
    const double accumulation = term(first, "P.V accumulation") / golden.sum_a_abs_v[row * kDV];
    const double denominator = term(first, "denominator") / std::fabs(golden.o_hi[row * kDV]);
    EXPECT_GT(accumulation, 0);
    EXPECT_GT(denominator, 0);
    for (const int column : {0, 200, 511}) {
      const std::int64_t at = row * kDV + column;
      const Explained o = bounds.o(Tier::kT0, -1, column);
      EXPECT_NEAR(term(o, "Q.K accumulation") / (of_dot * golden.sum_a_spread_dev[at]), 1, 0.01);
      EXPECT_NEAR(term(o, "P.V accumulation") / (accumulation * golden.sum_a_abs_v[at]), 1, 0.01);
      EXPECT_NEAR(term(o, "denominator") / (denominator * std::fabs(golden.o_hi[at])), 1, 0.01);
      EXPECT_GE(term(o, "exp2"), 0.99 * of_exp2 * golden.sum_a_dev[at]);
      EXPECT_LE(term(o, "exp2"),
                1.01 * (of_exp2 + 5 * u * (facts[1] - facts[0])) * golden.sum_a_dev[at]);
      EXPECT_NEAR(term(o, "P rounded") / (0x1p-8 * golden.sum_a_abs_v[at]), 1, 0.01);
      const double largest_x = std::max(std::fabs(facts[0]), std::fabs(facts[1]));
      EXPECT_LE(term(o, "logit rounding"), 1.01 * u * largest_x * golden.sum_a_dev[at]);
    }
  }
}

TEST(GoldenMake, MagnitudesKeepTheirOrderAndTheirSums) {
  const GoldenCase golden = made("v1:k=mla_decode:h=2:s=130:splits=2:dist=wide_logits");
  for (std::size_t at = 0; at < golden.o_hi.size(); ++at) {
    EXPECT_LE(std::fabs(golden.o_hi[at]), golden.sum_a_abs_v[at]);
    EXPECT_LE(golden.sum_aa_vv[at], golden.sum_a_abs_v[at] * golden.sum_a_abs_v[at]);
    EXPECT_GT(golden.sum_a_spread_dev[at], 0);
  }
  for (std::size_t row = 0; row < golden.lse_hi.size(); ++row) {
    const double* const facts = &golden.of_row[row * kFactsOfRowCount];
    EXPECT_LE(facts[0], facts[2]);
    EXPECT_LE(facts[2], facts[1]);
    EXPECT_LE(facts[1], golden.lse_hi[row]);
    EXPECT_LE(golden.lse_hi[row], facts[1] + std::log(130));
    EXPECT_LE(facts[4], facts[5]);
    EXPECT_GE(facts[6], 1.0 / 130);
  }
}

TEST(GoldenMake, DoesNotDependOnThreads) {
  const char* const token = "v1:k=mla_decode:h=5:s=100,0,7:q=2:page=16:splits=2";
  EXPECT_TRUE(made(token, false, 1) == made(token, false, 3));
  EXPECT_TRUE(made(token, true, 1) == made(token, true, 3));
}

TEST(GoldenMake, DigestsOfRowsAreThoseOfTheirValues) {
  EXPECT_EQ(digests_of_rows(made(kCapturedCase)), made(kCapturedCase, true).row_digests);
}

TEST(GoldenMake, TheErrorThatIsStatedIsOfTheWorstRow) {
  for (const char* const token :
       {kCapturedCase, "v1:k=mla_decode:h=2:s=130:splits=2:dist=wide_logits"}) {
    const auto from = generated_inputs(*parse_token(token), 1);
    EXPECT_EQ(*stated_error(from->c.problem, from->inputs, 2), made(token).error) << token;
  }
}

TEST(GoldenMake, DigestsOfInputsSeeEachOfThem) {
  const auto digests = [](const std::string& token) {
    const auto from = generated_inputs(*parse_token(token), 1);
    return digests_of(from->c.problem, from->inputs);
  };
  const InputDigests base = digests("v1:k=mla_decode:h=2:s=40:page=16:splits=1");
  // The placement of pages moves the tables, and the order in which their bytes are read.
  const InputDigests placed = digests("v1:k=mla_decode:h=2:s=40:page=16:splits=1:order=sequential");
  EXPECT_EQ(placed.q, base.q);
  EXPECT_NE(placed.tables, base.tables);
  const InputDigests seeded = digests("v1:k=mla_decode:h=2:s=40:page=16:splits=1:seed=1");
  EXPECT_NE(seeded.q, base.q);
  EXPECT_NE(seeded.kv, base.kv);
  const InputDigests more_heads = digests("v1:k=mla_decode:h=3:s=40:page=16:splits=1");
  EXPECT_NE(more_heads.q, base.q);
  EXPECT_EQ(more_heads.kv, base.kv);
  EXPECT_EQ(more_heads.tables, base.tables);
}

TEST(GoldenMake, WhatIsMoreThanOneLaunchOrNotHereIsRefused) {
  const auto why = [](const char* token) {
    const auto from = generated_inputs(*parse_token(token), 1);
    EXPECT_FALSE(from.ok());
    return from.ok() ? "" : from.trouble().text;
  };
  EXPECT_NE(why("v1:k=mla_decode:steps=launch.launch").find("many launches"), std::string::npos);
  EXPECT_NE(why("v1:k=mla_decode:prop=repeat").find("a relation"), std::string::npos);
  EXPECT_NE(why("v1:k=nope").find("no kernel 'nope'"), std::string::npos);
  EXPECT_NE(why("v1:k=mla_decode:dist=nope").find("no distribution 'nope'"), std::string::npos);
}

// A file of `attest export`, edited through HDF5 as a user would.
class CaptureTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string exported(const char* token) const {
    std::string path = (folder_ / "case.h5").string();
    EXPECT_TRUE(export_case(*parse_token(token), path, 1).ok());
    return path;
  }
  // The same file with a tensor's bytes edited.
  template <class Edit>
  std::string edited(const std::string& path, const std::string& name, const Edit& edit) const {
    std::string to = (folder_ / "edited.h5").string();
    const auto from = Hdf5File::open(path);
    const auto file = Hdf5File::create(to);
    EXPECT_TRUE((*file)->write_attributes(*(*from)->attributes("/")).ok());
    const auto names = (*from)->names("inputs");
    for (const std::string& each : *names) {
      StoredTensor tensor = *(*from)->read("inputs/" + each);
      if (each == name) edit(tensor);
      EXPECT_TRUE((*file)
                      ->write("inputs/" + each, tensor.type, tensor.shape, tensor.bytes.data(),
                              *(*from)->attributes("inputs/" + each))
                      .ok());
    }
    EXPECT_TRUE((*file)->close().ok());
    return to;
  }
  static std::string refusal(const std::string& path) {
    const auto from = captured_inputs(path);
    EXPECT_FALSE(from.ok());
    return from.ok() ? "" : from.trouble().text;
  }

  std::filesystem::path folder_ = std::filesystem::temp_directory_path() /
                                  (std::string("attest_capture_") +
                                   ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CaptureTest, IsKeptWithItsInputsAndVerifiedFromThem) {
  const std::string path = edited(exported(kCapturedCase), "q", [](StoredTensor& q) {
    q.bytes[0] = std::byte{0x80}, q.bytes[1] = std::byte{0x3f};  // 1.0
  });
  const auto from = captured_inputs(path);
  ASSERT_TRUE(from.ok()) << from.trouble().text;
  const auto captured = make_golden(*from, false, 1);
  ASSERT_TRUE(captured.ok());
  const GoldenCase generated = made(kCapturedCase);
  EXPECT_EQ(captured->source, "capture");
  EXPECT_NE(captured->digest_q, generated.digest_q);
  EXPECT_EQ(captured->digest_kv, generated.digest_kv);
  EXPECT_NE(captured->lse_hi[0], generated.lse_hi[0]);
  EXPECT_EQ(captured->lse_hi[1], generated.lse_hi[1]);

  const std::string golden = (folder_ / "golden.h5").string();
  ASSERT_TRUE(write_golden({"first", "", {*captured}}, golden).ok());
  const auto read = read_golden(golden);
  ASSERT_TRUE(read.ok()) << read.trouble().text;
  const auto report = verify_golden(*read, {.all = true});
  ASSERT_TRUE(report.ok()) << report.trouble().text;
  EXPECT_TRUE(report->disagreements.empty()) << report->disagreements[0].text;
  EXPECT_EQ(report->by_digits, 8);
}

TEST_F(CaptureTest, KeepsFp8AsBytesWithItsFormat) {
  const auto from = captured_inputs(
      exported("v1:k=aiter_bf16_fp8_gqa16_ps:h=1:s=20:splits=1:kvt=fp8:kvscale=0.5"));
  ASSERT_TRUE(from.ok()) << from.trouble().text;
  for (const GoldenCase::Captured& input : from->captured) {
    if (input.name == "kv") {
      EXPECT_EQ(input.dtype, "float8_e4m3fnuz");
      EXPECT_EQ(input.tensor.type, Number::kU8);
    }
    if (input.name == "q") {
      EXPECT_EQ(input.dtype, "bfloat16");
      EXPECT_EQ(input.tensor.type, Number::kU16);
    }
  }
}

TEST_F(CaptureTest, AScaleIsTheTokens) {
  const std::string path =
      exported("v1:k=aiter_bf16_fp8_gqa16_ps:h=1:s=20:splits=1:kvt=fp8:kvscale=0.5");
  const std::string other = refusal(edited(path, "kv_scale", [](StoredTensor& scale) {
    const float value = 0.25;
    std::memcpy(scale.bytes.data(), &value, sizeof value);
  }));
  EXPECT_NE(other.find("kv_scale is not [0.5], as its token has it"), std::string::npos) << other;
  const auto from = captured_inputs(path);
  ASSERT_TRUE(from.ok()) << from.trouble().text;
  std::map<std::string, StoredTensor> tensors;
  for (const GoldenCase::Captured& input : from->captured) tensors[input.name] = input.tensor;
  const auto why = [&] { return inputs_of_tensors(from->c.problem, tensors).trouble().text; };
  tensors["q_scale"] = tensors["kv_scale"];
  EXPECT_EQ(why(), "q_scale is not [], as its token has it");
  tensors.erase("q_scale");
  tensors.erase("kv_scale");
  EXPECT_EQ(why(), "there is no tensor kv_scale");
}

TEST_F(CaptureTest, WhatDoesNotFitItsTokenIsNamed) {
  const std::string path = exported(kCapturedCase);
  const auto set_word = [](std::size_t at, std::int32_t value) {
    return [=](StoredTensor& t) { std::memcpy(&t.bytes[at * 4], &value, 4); };
  };
  EXPECT_NE(refusal(edited(path, "kv_indices", set_word(2, 99999))).find("kv_indices[2] is page"),
            std::string::npos);
  EXPECT_NE(refusal(edited(path, "kv_indices", set_word(3, -1))).find("is page -1"),
            std::string::npos);
  EXPECT_NE(refusal(edited(path, "kv_indptr", set_word(2, 1000))).find("other lengths"),
            std::string::npos);
  EXPECT_NE(refusal(edited(path, "qo_indptr", set_word(0, 1))).find("qo_indptr"),
            std::string::npos);
  EXPECT_NE(refusal(edited(path, "kv_last_page_len", set_word(0, 5))).find("sequence 0"),
            std::string::npos);
  const auto reshaped = edited(path, "q", [](StoredTensor& q) { q.shape = {q.bytes.size() / 2}; });
  EXPECT_NE(refusal(reshaped).find("q has the shape"), std::string::npos) << refusal(reshaped);
  const auto nan = edited(path, "q", [](StoredTensor& q) {
    q.bytes[0] = std::byte{0xc0}, q.bytes[1] = std::byte{0x7f};
  });
  EXPECT_NE(refusal(nan).find("q holds a NaN or an infinity in query token 0, head 0"),
            std::string::npos);
  EXPECT_NE(refusal((folder_ / "nowhere.h5").string()).find("no such file"), std::string::npos);
}

}  // namespace
}  // namespace attest

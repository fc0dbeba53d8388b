// The reference on a device is the host's, bit for bit. On the emulator always, where its sources
// are what runs on a GPU too; on cuda:0 where there is one, with more tokens.
#include "reference/gpu/gpu_reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "harness/core/formats.hpp"
#include "harness/device/device_list.hpp"
#include "reference/reference.hpp"
#include "reference/small_inputs.hpp"
#include "reference/sums.hpp"

namespace attest {
namespace {

template <class T>
bool is_same(T a, T b) {
  return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

template <class T>
void expect_same(const std::vector<T>& device, const std::vector<T>& host, const char* what) {
  ASSERT_EQ(device.size(), host.size()) << what;
  std::size_t differ = 0, first = 0;
  for (std::size_t i = 0; i < host.size(); ++i) {
    if (is_same(device[i], host[i])) continue;
    if (differ++ == 0) first = i;
  }
  EXPECT_EQ(differ, 0u) << what << ": the first is [" << first << "], " << device[first]
                        << " on the device, " << host[first] << " on the host";
}

void expect_same(const Bound& device, const Bound& host, const char* what) {
  SCOPED_TRACE(what);
  expect_same(device.o, host.o, "o");
  expect_same(device.lse, host.lse, "lse");
  expect_same(device.partial_o, host.partial_o, "partial o");
  expect_same(device.partial_lse, host.partial_lse, "partial lse");
}

void expect_same_facts(const Reference& device, const Reference& host) {
  ASSERT_EQ(device.rows.size(), host.rows.size());
  for (std::size_t r = 0; r < host.rows.size(); ++r) {
    const RowFacts &a = device.rows[r], &b = host.rows[r];
    expect_same(
        std::vector{a.logit_min, a.logit_max, a.n_eff, a.flush_mass, a.gain_bias, a.condition},
        std::vector{b.logit_min, b.logit_max, b.n_eff, b.flush_mass, b.gain_bias, b.condition},
        "facts");
  }
  ASSERT_EQ(device.scores.size(), host.scores.size());
  for (std::size_t i = 0; i < host.scores.size(); ++i) {
    ASSERT_EQ(device.scores[i].size(), host.scores[i].size());
    for (std::size_t f = 0; f < host.scores[i].size(); ++f) {
      const Score &a = device.scores[i][f], &b = host.scores[i][f];
      EXPECT_EQ(a.filter, b.filter);
      EXPECT_TRUE(is_same(a.z, b.z)) << a.filter << ": " << a.z << " and " << b.z;
      EXPECT_EQ(a.token_begin, b.token_begin);
      EXPECT_EQ(a.split, b.split);
      EXPECT_EQ(a.sequence, b.sequence);
    }
  }
}

void expect_same(const Reference& device, const Reference& host) {
  expect_same(device.expected.o, host.expected.o, "o");
  expect_same(device.expected.lse, host.expected.lse, "lse");
  expect_same(device.expected.partial_o, host.expected.partial_o, "partial o");
  expect_same(device.expected.partial_lse, host.expected.partial_lse, "partial lse");
  expect_same(device.tiers.t0, host.tiers.t0, "T0");
  expect_same(device.tiers.t1, host.tiers.t1, "T1");
  expect_same(device.tiers.t2, host.tiers.t2, "T2");
  expect_same(device.tiers.t2p, host.tiers.t2p, "T2p");
  expect_same(device.tiers.p_shift, host.tiers.p_shift, "shift of P");
  expect_same(device.tiers.q_shift, host.tiers.q_shift, "shift of q");
  expect_same(device.temperature_o, host.temperature_o, "temperature of o");
  expect_same(device.temperature_lse, host.temperature_lse, "temperature of lse");
  expect_same_facts(device, host);
}

class OnDevice : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto device = open_device(GetParam(), {});
    if (!device.ok()) GTEST_SKIP() << device.trouble().text;
    is_emulated_ = (*device)->is_emulated();
    auto made = GpuReference::make(std::move(*device), ATTEST_CODE_OBJECT_DIR);
    ASSERT_TRUE(made.ok()) << made.trouble().text;
    gpu_ = std::move(*made);
  }

  Reference run(const Problem& problem, const Inputs& inputs, const Contract& contract,
                int num_splits, ReferenceOptions options) {
    options.threads = is_emulated_ ? 2 : 16;
    auto made = reference(problem, inputs, contract, num_splits, options);
    EXPECT_TRUE(made.ok()) << made.trouble().text;
    return made.ok() ? std::move(*made) : Reference{};
  }

  // Compares what the device makes with what the host makes, and the device with itself.
  void compare(const Problem& problem, const Inputs& inputs, const Contract& contract,
               int num_splits, ReferenceOptions options = {}) {
    const Reference host = run(problem, inputs, contract, num_splits, options);
    options.device = gpu_.get();
    const Reference device = run(problem, inputs, contract, num_splits, options);
    EXPECT_EQ(device.device, GetParam());
    EXPECT_EQ(host.device, "");
    expect_same(device, host);
  }

  void compare(const Problem& problem, Family family, const Contract& contract, int num_splits,
               ReferenceOptions options = {}) {
    SCOPED_TRACE(name_of(family));
    const auto inputs = small_inputs(problem, family, 11);
    ASSERT_TRUE(inputs.ok());
    compare(problem, *inputs, contract, num_splits, options);
  }

  // So many on a GPU, fewer where each instruction is emulated.
  int tokens(int on_gpu, int emulated) const { return is_emulated_ ? emulated : on_gpu; }

  std::unique_ptr<GpuReference> gpu_;
  bool is_emulated_ = true;
};
INSTANTIATE_TEST_SUITE_P(GpuReference, OnDevice, testing::Values("emu:gfx942", "emu:gfx90a", "cuda:0"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, ':');
                           return name;
                         });

Contract declared() {
  Contract contract;
  contract.arithmetic.matrix_unit = MatrixUnit::kCdna3Bf16;
  contract.arithmetic.tile_tokens = 16;
  contract.arithmetic.waves_per_split = 4;
  contract.arithmetic.schedule_declared = true;
  return contract;
}

TEST_P(OnDevice, IsTheHostsOfEachFamilyOfInputs) {
  Problem problem;
  problem.h_q = 12;
  problem.s_kv = {tokens(9000, 150), 0, tokens(700, 70)};
  problem.s_q = {2, 1, 3};
  problem.page_size = 16;
  for (const Family family : kFamilies) compare(problem, family, declared(), 3);
}

TEST_P(OnDevice, IsTheHostsInEachDetailAndWithoutADeclaredSchedule) {
  Problem problem;
  problem.h_q = 5;
  problem.s_kv = {tokens(5000, 130), 1};
  problem.s_q = {1, 1};
  problem.q_pad = 8;
  problem.kv_indptr_start = 3;
  Contract undeclared = declared();
  undeclared.arithmetic.schedule_declared = false;
  for (const int splits : {1, 4}) {
    for (const Detail detail : {Detail::kPlain, Detail::kT0, Detail::kAll}) {
      compare(problem, Family::kNormal, declared(), splits, {.detail = detail});
      compare(problem, Family::kStaircase, undeclared, splits, {.detail = detail});
    }
  }
}

// Rows of one block that see more than others where a chunk, and a tile of V, ends.
TEST_P(OnDevice, IsTheHostsWhereRowsOfABlockSeeTokensOfDifferentChunks) {
  Problem problem;
  problem.h_q = 2;
  problem.s_kv = {kChunkTokens + 2, kChunkTokens, 3, 67, 8};
  problem.s_q = {7, 4, 8, 5, 8};
  problem.page_size = 64;
  compare(problem, Family::kNormal, declared(), 1);
}

TEST_P(OnDevice, IsTheHostsOfManyHeads) {
  Problem problem;
  problem.h_q = 128;
  problem.s_kv = {tokens(3000, 40)};
  compare(problem, Family::kNormal, declared(), 2);
  problem.h_q = 1;
  compare(problem, Family::kNeedle, declared(), 2);
}

TEST_P(OnDevice, IsTheHostsUnderEachRoundingOfPAndTileThatDividesNoChunk) {
  Problem problem;
  problem.s_kv = {tokens(4000, 140)};
  Contract contract = declared();
  contract.arithmetic.tile_tokens = 48;
  contract.arithmetic.l_from_rounded_p = true;
  contract.arithmetic.p_truncates = true;
  contract.arithmetic.bf16_partials = true;
  compare(problem, Family::kNormal, contract, 2);
  contract.arithmetic.p_bits = 4;  // e4m3fnuz
  contract.arithmetic.p_min_exponent = -7;
  contract.arithmetic.p_largest = 240;
  contract.arithmetic.p_scale = 448;
  contract.arithmetic.p_truncates = false;
  compare(problem, Family::kNormal, contract, 2);
  contract.arithmetic.p_bits = 24;
  contract.arithmetic.tile_tokens = 7;
  compare(problem, Family::kHugeLogits, contract, 1);
}

TEST_P(OnDevice, IsTheHostsWithALazyMaxAndWithQThatIsRounded) {
  Problem problem;
  problem.s_kv = {tokens(4000, 140)};
  Contract contract = declared();
  contract.arithmetic.lazy_rescale = 8;
  contract.arithmetic.lazy_heads = 4;
  compare(problem, Family::kStaircase, contract, 2);
  contract = declared();
  contract.arithmetic.scaled_q = true;
  compare(problem, Family::kNormal, contract, 2);
}

TEST_P(OnDevice, IsTheHostsOfFp8) {
  Problem problem;
  problem.h_q = 6;
  problem.s_kv = {tokens(4000, 130), 20};
  problem.s_q = {1, 2};
  problem.kv_type = Storage::kFp8;
  problem.kv_scale = 0.013f;
  compare(problem, Family::kNormal, declared(), 2);
  problem.q_type = Storage::kFp8;
  problem.q_scale = 0.03f;
  compare(problem, Family::kNormal, declared(), 2);
}

TEST_P(OnDevice, IsTheHostsOfNanAndInfinity) {
  Problem problem;
  problem.s_kv = {tokens(2000, 80), 20, 30};
  problem.s_q = {1, 1, 1};
  auto inputs = small_inputs(problem, Family::kNormal, 5);
  ASSERT_TRUE(inputs.ok());
  const auto put = [&](int sequence, int token, int column, std::uint16_t bits) {
    const std::int64_t page = inputs->kv_indices[inputs->kv_indptr[sequence] + token];
    inputs->kv.data<std::uint16_t>()[page * kDQk + column] = bits;
  };
  put(0, 7, 3, 0x7f80);    // inf in K and V
  put(0, 60, 40, 0x7fc0);  // NaN
  put(1, 3, 550, 0xff80);  // -inf in K alone
  inputs->q.data<std::uint16_t>()[2 * problem.q_stride_t()] = 0x7fc0;
  compare(problem, *inputs, declared(), 2);
}

TEST_P(OnDevice, ScoresAnOutputAsTheHostDoes) {
  Problem problem;
  problem.s_kv = {tokens(9000, 200), 90};
  problem.s_q = {1, 3};
  const auto inputs = small_inputs(problem, Family::kNormal, 9);
  ASSERT_TRUE(inputs.ok());
  const Contract contract = declared();
  const Reference exact = run(problem, *inputs, contract, 2, {});
  std::vector<std::uint16_t> o;
  for (const double value : exact.expected.o) o.push_back(encode_bf16(value));
  compare(problem, *inputs, contract, 2, {.observed = {o}});
}

TEST_P(OnDevice, GivesTheSameBitsAgainAfterALargerCase) {
  Problem small, large;
  small.s_kv = {tokens(3000, 70)};
  large.s_kv = {tokens(9000, 150), 40};
  large.s_q = {1, 1};
  const auto of_small = small_inputs(small, Family::kNormal, 2);
  const auto of_large = small_inputs(large, Family::kCancelling, 3);
  ASSERT_TRUE(of_small.ok() && of_large.ok());
  const ReferenceOptions options{.device = gpu_.get()};
  const Reference first = run(small, *of_small, declared(), 2, options);
  const Reference other = run(large, *of_large, declared(), 3, options);
  expect_same(run(small, *of_small, declared(), 2, options), first);
  expect_same(run(large, *of_large, declared(), 3, options), other);
}

TEST_P(OnDevice, LeavesSmallCasesToTheHost) {
  Problem problem;
  problem.s_kv = {100};
  const auto inputs = small_inputs(problem, Family::kNormal, 2);
  ASSERT_TRUE(inputs.ok());
  const auto made =
      reference(problem, *inputs, declared(), 1, {.device = gpu_.get(), .tokens_for_device = 101});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->device, "");
}

TEST(GpuReference, SaysWhatIsMissingWhereThereIsNoBuildForTheDevice) {
  auto device = open_device("emu:gfx942", {});
  ASSERT_TRUE(device.ok());
  const auto made = GpuReference::make(std::move(*device), "/no/such/folder");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.trouble().kind, TroubleKind::kInfra);
  EXPECT_NE(made.trouble().text.find("/no/such/folder/reference_sums.gfx942.co"),
            std::string::npos);
  EXPECT_NE(made.trouble().text.find("--reference cpu"), std::string::npos);
}

}  // namespace
}  // namespace attest

// Stage 2 alone, on partials that stage 1 would not write: the merge must not lean on its kindness.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness/core/formats.hpp"
#include "harness/device/device_list.hpp"
#include "kernels/mla_decode/arguments.hpp"

namespace attest {
namespace {

constexpr int kHeads = 3, kSplits = 4;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Merged {
  std::vector<std::uint16_t> o;  // [h, 512] bf16
  std::vector<float> lse;        // [h]
};

// One query token over s_kv tokens in 4 splits, page size 1.
class MergeTest : public testing::TestWithParam<bool> {  // fp32 partials?
 protected:
  std::vector<float> partial_o_ = std::vector<float>(kSplits * kHeads * kDV);  // [split, h, 512]
  std::vector<float> partial_lse_ = std::vector<float>(kSplits * kHeads);      // [split, h]

  void SetUp() override {
    for (int i = 0; i < kSplits * kHeads * kDV; ++i)
      partial_o_[i] = static_cast<float>(i % 97) / 32 - 1;
    for (int i = 0; i < kSplits * kHeads; ++i) partial_lse_[i] = static_cast<float>(i % 5) / 2;
  }

  Buffer put(const std::string& label, const void* from, std::size_t bytes) {
    auto buffer = device_->allocate(label, bytes, 0x7fdb);
    EXPECT_TRUE(buffer.ok());
    if (from)
      EXPECT_TRUE(device_->write(*buffer, 0, {static_cast<const std::byte*>(from), bytes}).ok());
    return *buffer;
  }

  Buffer put_partial_o() {
    if (GetParam()) return put("partial_o", partial_o_.data(), partial_o_.size() * 4);
    std::vector<std::uint16_t> narrow;
    for (const float x : partial_o_) narrow.push_back(std::isnan(x) ? 0x7fc0 : encode_bf16(x));
    return put("partial_o", narrow.data(), narrow.size() * 2);
  }

  Merged merge(int s_kv) {
    auto device = open_device("emu:gfx942", {.threads = 1});
    device_ = std::move(*device);
    const int qo[] = {0, 1}, kv[] = {0, s_kv}, last[] = {s_kv > 0 ? 1 : 0};
    const Buffer o = put("o", nullptr, kHeads * kDV * 2), lse = put("lse", nullptr, kHeads * 4);
    const mla_decode::Stage2Arguments a = {
        .batch = {.qo_indptr = put("qo_indptr", qo, sizeof qo).address,
                  .kv_indptr = put("kv_indptr", kv, sizeof kv).address,
                  .kv_last_page_len = put("kv_last_page_len", last, sizeof last).address,
                  .page_shift = 0,
                  .num_splits = kSplits},
        .partial_o = put_partial_o().address,
        .partial_lse = put("partial_lse", partial_lse_.data(), partial_lse_.size() * 4).address,
        .o = o.address,
        .lse = lse.address,
        .o_stride_token = kHeads * kDV,
        .o_stride_head = kDV,
        .h = kHeads,
        .block_s = kSplits};
    const auto module = device_->load_module(ATTEST_CODE_OBJECT_DIR "/mla_decode.gfx942.co");
    EXPECT_TRUE(module.ok());
    const auto function = device_->function(
        *module, GetParam() ? "mla_decode_stage2_fp32" : "mla_decode_stage2_bf16");
    EXPECT_TRUE(function.ok());
    KernelArguments arguments;
    arguments.add(a).add(int{kDV});
    EXPECT_TRUE(
        device_->launch(*function, {.grid = {kHeads, 1, 1}, .block = {kDV, 1, 1}}, arguments).ok());
    EXPECT_TRUE(device_->synchronize().ok());
    Merged merged{std::vector<std::uint16_t>(kHeads * kDV), std::vector<float>(kHeads)};
    EXPECT_TRUE(device_->read(o, 0, std::as_writable_bytes(std::span(merged.o))).ok());
    EXPECT_TRUE(device_->read(lse, 0, std::as_writable_bytes(std::span(merged.lse))).ok());
    return merged;
  }

  // The merge of the splits in `live` by the formula, in fp64. A bf16 ulp and 1e-5 of lse are far
  // above the merge's own rounding and far below what one split more or less would do.
  void expect_merge_of(const Merged& merged, const std::vector<int>& live) {
    for (int h = 0; h < kHeads; ++h) {
      double sum = 0;
      for (const int s : live) sum += std::exp(double{partial_lse_[s * kHeads + h]});
      EXPECT_NEAR(merged.lse[h], std::log(sum), 1e-5) << "head " << h;
      for (int d = 0; d < kDV; ++d) {
        double o = 0;
        for (const int s : live) {
          const double stored =
              GetParam() ? partial_o_[(s * kHeads + h) * kDV + d]
                         : decode_bf16(encode_bf16(partial_o_[(s * kHeads + h) * kDV + d]));
          o += std::exp(double{partial_lse_[s * kHeads + h]}) / sum * stored;
        }
        ASSERT_NEAR(decode_bf16(merged.o[h * kDV + d]), o, std::abs(o) / 256 + 1e-6)
            << "head " << h << ", column " << d;
      }
    }
  }

  void fill_split(int split, float o, float lse) {
    std::fill_n(partial_o_.begin() + split * kHeads * kDV, kHeads * kDV, o);
    std::fill_n(partial_lse_.begin() + split * kHeads, kHeads, lse);
  }

 private:
  std::unique_ptr<Device> device_;
};

TEST_P(MergeTest, WeighsEverySplitByItsLse) { expect_merge_of(merge(400), {0, 1, 2, 3}); }

TEST_P(MergeTest, AFullyMaskedSplitContributesExactlyZeroThoughItsOutputIsNan) {
  fill_split(2, kNan, kMinusInf);
  expect_merge_of(merge(400), {0, 1, 3});
}

TEST_P(MergeTest, AFullyMaskedFirstSplitDoesNotPoisonTheRunningMax) {
  fill_split(0, kNan, kMinusInf);
  expect_merge_of(merge(400), {1, 2, 3});
}

TEST_P(MergeTest, ARowMaskedInEverySplitIsZerosAndMinusInf) {
  for (int split = 0; split < kSplits; ++split) fill_split(split, kNan, kMinusInf);
  const Merged merged = merge(400);
  for (const float lse : merged.lse) EXPECT_EQ(lse, kMinusInf);
  for (const std::uint16_t o : merged.o) ASSERT_EQ(o & 0x7fff, 0);
}

TEST_P(MergeTest,
       AnEmptySplitIsNotRead) {  // 130 tokens: three splits of 64, 64 and 2; the fourth is empty
  fill_split(3, kNan, 1e30f);
  expect_merge_of(merge(130), {0, 1, 2});
}

TEST_P(MergeTest, ASequenceWithoutTokensIsZerosAndMinusInf) {
  for (int split = 0; split < kSplits; ++split) fill_split(split, kNan, 1e30f);
  const Merged merged = merge(0);
  for (const float lse : merged.lse) EXPECT_EQ(lse, kMinusInf);
  for (const std::uint16_t o : merged.o) ASSERT_EQ(o & 0x7fff, 0);
}

INSTANTIATE_TEST_SUITE_P(Partials, MergeTest, testing::Bool(),
                         [](const auto& info) { return info.param ? "fp32" : "bf16"; });

}  // namespace
}  // namespace attest

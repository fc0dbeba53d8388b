#include "harness/bench_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "harness/bench_kernels_instruments.hpp"
#include "harness/bench_kernels_report.hpp"
#include "harness/bench_kernels_sets.hpp"
#include "harness/bench_kernels_stages.hpp"
#include "harness/core/formats.hpp"
#include "harness/core/poison.hpp"
#include "harness/device/device_list.hpp"
#include "harness/fake_device.hpp"

namespace attest {
namespace {

constexpr BenchPoint kSmall{.h_q = 16, .s_kv = 128, .b = 2};

std::unique_ptr<Device> emulator() {
  auto device = open_device(kDefaultDevice, {.threads = 1});
  EXPECT_TRUE(device.ok());
  return std::move(*device);
}

KernelBenchOptions options_for(const Device& device) {
  KernelBenchOptions options = bench_options_for(device);
  options.code_objects = ATTEST_CODE_OBJECT_DIR;
  return options;
}

const Kernel& right_kernel() { return *find_kernel("mla_decode"); }

// mla_decode with another launcher.
class Suspect final : public Kernel {
 public:
  using Launch = std::function<Outcome(Device&, Module, const Problem&, const MlaTensors&)>;
  explicit Suspect(Launch launch) : launch_(std::move(launch)) {}

  std::string_view name() const override { return "suspect"; }
  std::string_view summary() const override { return "of a test"; }
  Contract contract(const Problem& p) const override { return right_kernel().contract(p); }
  std::string why_unsupported(const Problem& p) const override {
    return right_kernel().why_unsupported(p);
  }
  int num_splits(const Problem& p) const override { return right_kernel().num_splits(p); }
  std::string code_object(std::string_view target) const override {
    return right_kernel().code_object(target);
  }
  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<Suspect>(launch_); }
  Outcome launch(Device& device, Module module, const Problem& problem,
                 const MlaTensors& tensors) const override {
    return launch_(device, module, problem, tensors);
  }

 private:
  Launch launch_;
};

Verdict verdict_of_suspect(Suspect::Launch launch) {
  const auto device = emulator();
  const auto speed =
      bench_kernel(Suspect(std::move(launch)), *device, kSmall, options_for(*device));
  EXPECT_TRUE(speed.ok()) << speed.trouble().text;
  return speed.ok() ? speed->verdict : Verdict{};
}

TEST(BenchKernels, ARightKernelHasASpeed) {
  const auto device = emulator();
  const auto speed = bench_kernel(right_kernel(), *device, kSmall, options_for(*device));
  ASSERT_TRUE(speed.ok()) << speed.trouble().text;
  EXPECT_EQ(speed->verdict.status, Status::kPassed) << speed->verdict.reason;
  // 256 KV rows, 32 rows of q, o and lse.
  EXPECT_NEAR(speed->gb_per_s * speed->us * 1e3, 256 * 1152 + 32 * (1152 + 1024 + 4), 1);
  EXPECT_NEAR(speed->tflops * speed->us * 1e6, 2.0 * 256 * 16 * 1088, 1e3);
  EXPECT_LE(speed->us_least, speed->us);
  EXPECT_LE(speed->us, speed->us_most);
}

TEST(BenchKernels, EachStageHasATimeOfItsOwn) {
  const auto device = emulator();
  KernelBenchOptions options = options_for(*device);
  options.timings = 1;
  BenchPoint point = kSmall;
  point.num_splits = 2;
  const auto two = bench_kernel(right_kernel(), *device, point, options);
  ASSERT_TRUE(two.ok()) << two.trouble().text;
  EXPECT_EQ(two->stage_us.size(), 2u);
  point.num_splits = 1;  // nothing to merge
  const auto one = bench_kernel(right_kernel(), *device, point, options);
  ASSERT_TRUE(one.ok()) << one.trouble().text;
  EXPECT_TRUE(one->stage_us.empty());
}

class CountingDevice final : public FakeDevice {
 public:
  Outcome launch(Function, const LaunchConfig&, const KernelArguments&) override {
    ++launches;
    return Done{};
  }
  int launches = 0;
};

TEST(StageDevice, LetsOneLaunchThroughAndCountsAll) {
  CountingDevice inner;
  StageDevice device(inner, 1);
  for (int kernel = 0; kernel < 2; ++kernel) {
    device.begin_kernel();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(device.launch({}, {}, {}).ok());
    EXPECT_EQ(device.launches(), 3);
  }
  EXPECT_EQ(inner.launches, 2);
}

TEST(BenchKernels, AKernelThatWritesNothingHasNone) {
  const Verdict verdict = verdict_of_suspect(
      [](Device&, Module, const Problem&, const MlaTensors&) -> Outcome { return Done{}; });
  EXPECT_EQ(verdict.status, Status::kFailed);
}

TEST(BenchKernels, AKernelWhoseScaleIsTwoPercentOffHasNone) {
  const Verdict verdict = verdict_of_suspect(
      [](Device& device, Module module, const Problem& problem, const MlaTensors& tensors) {
        Problem off = problem;
        off.sm_scale *= 1.02f;
        return right_kernel().launch(device, module, off, tensors);
      });
  EXPECT_EQ(verdict.status, Status::kFailed);
}

TEST(BenchKernels, AKernelThatSkipsALaunchThatIsNotJudgedHasNone) {
  const Verdict verdict = verdict_of_suspect(
      [first = std::uint64_t{0}](Device& device, Module module, const Problem& problem,
                                 const MlaTensors& tensors) mutable -> Outcome {
        if (first == 0) first = tensors.q.address;
        if (tensors.q.address == first) return Done{};
        return right_kernel().launch(device, module, problem, tensors);
      });
  EXPECT_EQ(verdict.status, Status::kFailed);
  EXPECT_NE(verdict.reason.find("set 0"), std::string::npos) << verdict.reason;
}

class FourProcessors final : public StageDevice {
 public:
  explicit FourProcessors(Device& inner) : StageDevice(inner, kAll) {}
  int processors() const override { return 4; }
};

TEST(BenchKernels, SplitsAreTheKernelsChoiceForTheProcessorsOrThoseThatAreAskedFor) {
  const auto inner = emulator();
  FourProcessors device(*inner);
  KernelBenchOptions options = options_for(device);
  options.timings = 1;
  BenchPoint point = kSmall;
  const auto chosen = bench_kernel(right_kernel(), device, point, options);
  ASSERT_TRUE(chosen.ok()) << chosen.trouble().text;
  EXPECT_EQ(chosen->num_splits, 2);  // two sequences on four processors
  point.num_splits = 3;
  const auto asked = bench_kernel(right_kernel(), device, point, options);
  ASSERT_TRUE(asked.ok()) << asked.trouble().text;
  EXPECT_EQ(asked->num_splits, 3);
}

TEST(BenchKernels, LaunchesGoRoundAsManySetsAsTheBytesNeed) {
  const auto device = emulator();
  KernelBenchOptions options = options_for(*device);
  options.distinct_bytes = 1 << 20;
  options.launches = 8;
  options.timings = 1;
  const auto speed = bench_kernel(right_kernel(), *device, {16, 128, 1}, options);
  ASSERT_TRUE(speed.ok()) << speed.trouble().text;
  EXPECT_EQ(speed->sets, 6);  // of 182,336 bytes
  EXPECT_EQ(speed->launches, 12);
}

TEST(BenchKernels, APointThatTheKernelDoesNotTakeIsTheUsersTrouble) {
  const auto device = emulator();
  KernelBenchOptions options = options_for(*device);
  options.page_size = 3;
  const auto speed = bench_kernel(right_kernel(), *device, kSmall, options);
  ASSERT_FALSE(speed.ok());
  EXPECT_EQ(speed.trouble().kind, TroubleKind::kUsage);
}

TEST(InputSets, NoTwoShareAPage) {
  const auto device = emulator();
  Bench bench(*device, kPoison16);
  const Problem problem{.s_kv = {130, 130}, .s_q = {1, 1}, .page_size = 64};
  const InputSets sets(bench, *device, ATTEST_CODE_OBJECT_DIR, right_kernel(), problem, 5);
  ASSERT_FALSE(bench.failed()) << bench.trouble().text;
  std::multiset<std::int32_t> pages;
  for (int set = 0; set < sets.count(); ++set) {
    const auto table = sets.pages(set);
    EXPECT_EQ(table.size(), 6u);
    pages.insert(table.begin(), table.end());
  }
  ASSERT_EQ(pages.size(), 30u);
  EXPECT_EQ(std::set(pages.begin(), pages.end()).size(), 30u);
  EXPECT_EQ(*pages.begin(), 0);
  EXPECT_EQ(*pages.rbegin(), 29);
}

std::vector<std::uint16_t> filled(Device& device, std::uint64_t seed) {
  Bench bench(device, kPoison16);
  Buffer buffer;
  std::vector<std::uint16_t> values;
  bench.allocate(buffer, "filled", 1 << 16);
  if (!bench.failed()) bench.take(fill_on_device(device, ATTEST_CODE_OBJECT_DIR, buffer, seed));
  bench.read(buffer, values);
  EXPECT_FALSE(bench.failed()) << bench.trouble().text;
  return values;
}

TEST(FillOnDevice, ValuesAreNearToStandardNormal) {
  const auto device = emulator();
  double sum = 0, squares = 0;
  const std::vector<std::uint16_t> values = filled(*device, 1);
  for (const std::uint16_t code : values) {
    const double value = decode_bf16(code);
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 8 / std::sqrt(n));
}

TEST(FillOnDevice, ValuesAreAFunctionOfTheSeed) {
  const auto device = emulator();
  EXPECT_EQ(filled(*device, 1), filled(*device, 1));
  EXPECT_NE(filled(*device, 1), filled(*device, 2));
}

TEST(BenchRead, AllGridsReadTheSameWords) {
  const auto device = emulator();
  const auto speed = bench_read(*device, ATTEST_CODE_OBJECT_DIR, 1 << 16, 1);
  ASSERT_TRUE(speed.ok()) << speed.trouble().text;
  EXPECT_EQ(speed->bytes, 1 << 16);
  EXPECT_EQ(speed->blocks, 16);
}

KernelBenchReport report_of(const std::string& hardware, Status status) {
  KernelBenchReport report{.kernel = "k",
                           .device = "cuda:0",
                           .hardware = hardware,
                           .machine = "m",
                           .command = "c",
                           .options = {},
                           .read = {.gb_per_s = 4000}};
  KernelSpeed row{.point = {128, 65536, 64}, .us = 3428, .gb_per_s = 1000};
  row.verdict.status = status;
  row.verdict.reason = "wrong";
  report.rows = {row};
  return report;
}

TEST(BenchKernelsReport, ShowsThePeerOnTheHardwareThatItWasMeasuredOn) {
  const std::string h200 = markdown(report_of("NVIDIA H200", Status::kPassed));
  EXPECT_NE(h200.find("| 1714 | 2.00 | passed |"), std::string::npos) << h200;
  EXPECT_NE(h200.find("FlashMLA"), std::string::npos);
  const std::string other = markdown(report_of("NVIDIA H100", Status::kPassed));
  EXPECT_EQ(other.find("1714"), std::string::npos) << other;
  EXPECT_EQ(other.find("FlashMLA"), std::string::npos);
}

TEST(BenchKernelsReport, EachRowHasTheColumnsOfTheHead) {
  for (const char* hardware : {"NVIDIA H200", "another"}) {
    for (const Status status : {Status::kPassed, Status::kFailed}) {
      const KernelBenchReport report = report_of(hardware, status);
      const std::string head = markdown_head(report);
      const std::string last = head.substr(head.rfind('\n', head.size() - 2) + 1);
      const std::string row = markdown_row(report, report.rows[0]);
      EXPECT_EQ(std::count(row.begin(), row.end(), '|'), std::count(last.begin(), last.end(), '|'))
          << last << row;
    }
  }
}

TEST(BenchKernelsReport, GivesTheShareOfTheReadBandwidth) {
  EXPECT_NE(markdown(report_of("x", Status::kPassed)).find("| 1000 | 0.25 |"), std::string::npos);
}

TEST(BenchKernelsReport, WhatDoesNotPassHasAReasonAndNoSpeed) {
  const KernelBenchReport report = report_of("NVIDIA H200", Status::kFailed);
  EXPECT_NE(markdown(report).find("failed: wrong"), std::string::npos);
  EXPECT_EQ(markdown(report).find("3428"), std::string::npos) << markdown(report);
  EXPECT_EQ(as_json(report).find("3428"), std::string::npos) << as_json(report);
}

}  // namespace
}  // namespace attest

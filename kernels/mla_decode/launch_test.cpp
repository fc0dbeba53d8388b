#include "kernels/mla_decode/launch.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "kernels/mla_decode/arguments.hpp"

namespace attest::mla_decode {
namespace {

Problem problem_of(int b, int s_q, int h_q) {
  Problem problem;
  problem.h_q = h_q;
  problem.s_kv.assign(b, 1000);
  problem.s_q.assign(b, s_q);
  return problem;
}

// Takes launches down instead of running them.
class RecordingDevice final : public Device {
 public:
  struct Launch {
    std::string symbol;
    LaunchConfig config;
    std::vector<std::byte> arguments;
  };
  std::vector<Launch> launches;
  std::string missing_symbol;

  std::string name() const override { return "recording"; }
  std::string target() const override { return "gfx942"; }
  MatrixUnit matrix_unit() const override { return MatrixUnit::kCdna3Bf16; }
  Result<Module> load_module(const std::string&) override { return Module{0}; }
  Result<Function> function(Module, const std::string& symbol) override {
    if (symbol == missing_symbol) return Trouble{TroubleKind::kInfra, "no symbol " + symbol};
    symbols_.push_back(symbol);
    return Function{static_cast<int>(symbols_.size()) - 1};
  }
  Result<Buffer> allocate(const std::string&, std::size_t, std::uint16_t) override {
    return Buffer{};
  }
  void release(const Buffer&) override {}
  void release_all() override {}
  Outcome write(const Buffer&, std::size_t, std::span<const std::byte>) override { return Done{}; }
  Outcome read(const Buffer&, std::size_t, std::span<std::byte>) override { return Done{}; }
  std::string guard_damage(const Buffer&) override { return {}; }
  Outcome launch(Function function, const LaunchConfig& config,
                 const KernelArguments& arguments) override {
    launches.push_back(
        {symbols_[function.id], config, {arguments.bytes().begin(), arguments.bytes().end()}});
    return Done{};
  }
  Outcome synchronize() override { return Done{}; }
  Outcome begin_capture() override { return Done{}; }
  Result<Graph> end_capture() override { return Graph{}; }
  Outcome replay(Graph) override { return Done{}; }
  void set_schedule(Schedule) override {}

 private:
  std::vector<std::string> symbols_;
};

template <class T>
T arguments_of(const RecordingDevice::Launch& launch) {
  T arguments;
  std::memcpy(&arguments, launch.arguments.data(), sizeof arguments);
  return arguments;
}

MlaTensors tensors_with_addresses() {
  MlaTensors tensors;
  std::uint64_t address = 0x1000;
  for (Buffer* buffer : {&tensors.q, &tensors.kv, &tensors.qo_indptr, &tensors.kv_indptr,
                         &tensors.kv_indices, &tensors.kv_last_page_len, &tensors.o, &tensors.lse,
                         &tensors.partial_o, &tensors.partial_lse}) {
    buffer->address = address;
    address += 0x1000;
  }
  return tensors;
}

TEST(HeadTile, Is64OnlyWhereItDividesTheHeads) {
  for (int h = 1; h <= kMaxHeads; ++h) EXPECT_EQ(head_tile(h), h == 64 || h == 128 ? 64 : 16) << h;
}

// aiter's mla_gluon.py:936-989 gives 85, 51 and 36 for b = 3, 5, 7 at h <= 16.
TEST(SplitRule, DividesABudgetOf256ProgramsAt16Heads) {
  EXPECT_EQ(num_splits_rule(1, 1, 16), 256);
  EXPECT_EQ(num_splits_rule(3, 1, 16), 85);
  EXPECT_EQ(num_splits_rule(5, 1, 12), 51);
  EXPECT_EQ(num_splits_rule(7, 1, 1), 36);
  EXPECT_EQ(num_splits_rule(8, 2, 16), 16);
  EXPECT_EQ(num_splits_rule(2, 1, 96), 21);
  EXPECT_EQ(num_splits_rule(4096, 8, 127), 1);
}

TEST(SplitRule, IsAPowerOfTwoAt64Heads) {
  EXPECT_EQ(num_splits_rule(1, 1, 64), 256);
  EXPECT_EQ(num_splits_rule(1, 1, 128), 128);
  EXPECT_EQ(num_splits_rule(3, 1, 64), 128);  // ceil(256 / 3) = 86
  EXPECT_EQ(num_splits_rule(64, 1, 128), 2);
  EXPECT_EQ(num_splits_rule(256, 1, 64), 1);
  EXPECT_EQ(num_splits_rule(4096, 8, 128), 1);
}

TEST(SplitRule, StaysWithinTheLimitsForEveryShape) {
  for (int b = 1; b <= kMaxBatch; b = b * 3 / 2 + 1) {
    for (int s_q = 1; s_q <= kMaxQueryTokens; ++s_q) {
      for (int h = 1; h <= kMaxHeads; ++h) {
        const int splits = num_splits_rule(b, s_q, h);
        ASSERT_TRUE(splits >= 1 && splits <= kMaxSplits) << b << ' ' << s_q << ' ' << h;
      }
    }
  }
}

TEST(SplitRule, TheProblemsOwnNumberWins) {
  Problem problem = problem_of(3, 1, 16);
  EXPECT_EQ(fp32_partials().num_splits(problem), 85);
  problem.num_splits = 7;
  EXPECT_EQ(fp32_partials().num_splits(problem), 7);
}

TEST(MergeRules, BlockSIsTheNextPowerOfTwoUpTo64) {
  EXPECT_EQ(block_s_rule(2), 2);
  EXPECT_EQ(block_s_rule(3), 4);
  EXPECT_EQ(block_s_rule(64), 64);
  EXPECT_EQ(block_s_rule(65), 64);
  EXPECT_EQ(block_s_rule(256), 64);
}

TEST(SplitRule, ForAGpuFillsItsProcessorsOnce) {
  const Kernel& kernel = fp32_partials();
  EXPECT_EQ(kernel.num_splits_for(problem_of(1, 1, 16), 132), 132);
  EXPECT_EQ(kernel.num_splits_for(problem_of(32, 1, 16), 132), 4);
  EXPECT_EQ(kernel.num_splits_for(problem_of(1, 1, 128), 132), 66);  // two head tiles
  EXPECT_EQ(kernel.num_splits_for(problem_of(128, 2, 16), 132), 1);
  EXPECT_EQ(kernel.num_splits_for(problem_of(1, 1, 1), 1000), 256);
}

TEST(Contract, OnHopperIsWhatItsKernelDoes) {
  const Problem problem = problem_of(1, 1, 16);
  const Contract amd = fp32_partials().contract_for(problem, "gfx942");
  EXPECT_EQ(to_text(amd), to_text(fp32_partials().contract(problem)));
  const Arithmetic nvidia = fp32_partials().contract_for(problem, "sm_90").arithmetic;
  EXPECT_EQ(nvidia.tile_tokens, 64);
  EXPECT_EQ(nvidia.waves_per_split, 1);
  EXPECT_EQ(nvidia.exp_ulp, 2);
  EXPECT_TRUE(nvidia.schedule_declared);
}

TEST(MergeRules, DSplitDoublesUntilTheGridFillsTheGpu) {
  EXPECT_EQ(d_split_rule(1), 8);
  EXPECT_EQ(d_split_rule(38), 8);
  EXPECT_EQ(d_split_rule(76), 4);
  EXPECT_EQ(d_split_rule(152), 2);
  EXPECT_EQ(d_split_rule(303), 2);
  EXPECT_EQ(d_split_rule(304), 1);
}

TEST(Grid, IsSplitMajorWhenTheXcdsDivideTheSplits) {
  const Problem problem = problem_of(5, 2, 20);
  const LaunchConfig major = stage1_grid(problem, 16, "gfx942");
  EXPECT_EQ(major.grid.x, 16u);
  EXPECT_EQ(major.grid.y, 5u);
  const LaunchConfig minor = stage1_grid(problem, 12, "gfx942");
  EXPECT_EQ(minor.grid.x, 5u);
  EXPECT_EQ(minor.grid.y, 12u);
  for (const LaunchConfig& config : {major, minor}) {
    EXPECT_EQ(config.grid.z, 4u);  // 2 query tokens, 2 head tiles
    EXPECT_EQ(config.block.x, 256u);
    EXPECT_EQ(config.dynamic_lds_bytes, 0u);
  }
}

TEST(Grid, OnHopperAWorkgroupTakesAllTheSharedMemory) {
  const LaunchConfig narrow = stage1_grid(problem_of(5, 2, 20), 16, "sm_90");
  EXPECT_EQ(narrow.block.x, 256u);
  EXPECT_EQ(narrow.dynamic_lds_bytes, 227u * 1024);
  const LaunchConfig wide = stage1_grid(problem_of(5, 2, 128), 16, "sm_90");
  EXPECT_EQ(wide.block.x, 384u);  // two warpgroups that attend, one that fetches
  EXPECT_EQ(wide.dynamic_lds_bytes, 227u * 1024);
}

TEST(Grid, TheProblemsOrderOverridesTheRule) {
  Problem problem = problem_of(5, 1, 16);
  problem.grid_order = GridOrder::kSplitMajor;
  EXPECT_EQ(stage1_grid(problem, 3, "gfx942").grid.x, 3u);
  problem.grid_order = GridOrder::kSplitMinor;
  EXPECT_EQ(stage1_grid(problem, 16, "gfx942").grid.x, 5u);
}

TEST(Grid, StageTwoCoversEveryColumnOfEveryRow) {
  for (const Problem& problem :
       {problem_of(1, 1, 1), problem_of(2, 3, 12), problem_of(40, 8, 128)}) {
    for (const bool on_hopper : {false, true}) {
      const LaunchConfig config = stage2_grid(problem, on_hopper ? "sm_90" : "gfx942");
      const auto columns = static_cast<unsigned>(on_hopper ? kHopperLaneColumns : 1);
      EXPECT_EQ(config.grid.x % problem.h_q, 0u);
      EXPECT_EQ(config.grid.x / problem.h_q * config.block.x * columns, unsigned{kDV});
      EXPECT_EQ(config.block.x % (on_hopper ? 32 : 64), 0u);  // whole waves
      EXPECT_EQ(config.grid.y, static_cast<unsigned>(problem.max_s_q()));
      EXPECT_EQ(config.grid.z, static_cast<unsigned>(problem.b()));
    }
  }
}

TEST(Supports, TakesEveryValidShapeAndNamesTheFieldOfAnInvalidOne) {
  for (int h : {1, 12, 16, 17, 64, 100, 128}) {
    EXPECT_EQ(fp32_partials().why_unsupported(problem_of(2, 4, h)), "") << h;
  }
  EXPECT_NE(fp32_partials().why_unsupported(problem_of(1, 1, 129)).find("h_q"), std::string::npos);
  Problem problem = problem_of(1, 1, 16);
  problem.page_size = 32;
  EXPECT_NE(bf16_partials().why_unsupported(problem).find("page_size"), std::string::npos);
}

TEST(CodeObjects, AreNamedByTarget) {
  EXPECT_EQ(fp32_partials().code_object("gfx942"), "mla_decode.gfx942.co");
  EXPECT_EQ(bf16_partials().code_object("gfx90a"), "mla_decode.gfx90a.co");
  EXPECT_EQ(fp32_partials().code_object("sm_90"), "mla_decode.sm_90.cubin");
}

TEST(Kernel, TakesBf16AloneAndSaysSo) {
  const Problem bf16 = problem_of(1, 1, 16);
  for (const Kernel* kernel : {&fp32_partials(), &bf16_partials()}) {
    EXPECT_EQ(kernel->why_unsupported(bf16), "");
    for (const auto member : {&Problem::q_type, &Problem::kv_type}) {
      Problem p = bf16;
      p.*member = Storage::kFp8;
      EXPECT_NE(kernel->why_unsupported(p).find("bf16 alone"), std::string::npos);
    }
  }
}

TEST(Launch, OneSplitIsOneKernelThatWritesTheStridedOutput) {
  RecordingDevice device;
  Problem problem = problem_of(2, 1, 16);
  problem.num_splits = 1;
  problem.o_pad = 8;
  problem.q_pad = 16;
  problem.page_size = 64;
  const MlaTensors tensors = tensors_with_addresses();
  ASSERT_TRUE(fp32_partials().launch(device, Module{0}, problem, tensors).ok());
  ASSERT_EQ(device.launches.size(), 1u);
  EXPECT_EQ(device.launches[0].symbol, "mla_decode_stage1_16");
  const auto a = arguments_of<Stage1Arguments>(device.launches[0]);
  EXPECT_EQ(a.o, tensors.o.address);
  EXPECT_EQ(a.lse, tensors.lse.address);
  EXPECT_EQ(a.o_stride_head, 520);
  EXPECT_EQ(a.o_stride_token, 16 * 520);
  EXPECT_EQ(a.q_stride_head, 592);
  EXPECT_EQ(a.batch.page_shift, 6);
  EXPECT_EQ(a.o_is_fp32, 0);
}

TEST(Launch, SeveralSplitsWriteDensePartialsAndMergeThem) {
  for (const Kernel* kernel : {&fp32_partials(), &bf16_partials()}) {
    RecordingDevice device;
    Problem problem = problem_of(2, 1, 128);
    problem.num_splits = 5;
    const MlaTensors tensors = tensors_with_addresses();
    ASSERT_TRUE(kernel->launch(device, Module{0}, problem, tensors).ok());
    ASSERT_EQ(device.launches.size(), 2u);
    EXPECT_EQ(device.launches[0].symbol, "mla_decode_stage1_64");
    const bool fp32 = !kernel->contract(Problem{}).arithmetic.bf16_partials;
    EXPECT_EQ(device.launches[1].symbol,
              fp32 ? "mla_decode_stage2_fp32" : "mla_decode_stage2_bf16");
    const auto first = arguments_of<Stage1Arguments>(device.launches[0]);
    EXPECT_EQ(first.o, tensors.partial_o.address);
    EXPECT_EQ(first.lse, tensors.partial_lse.address);
    EXPECT_EQ(first.o_is_fp32, fp32);
    EXPECT_EQ(first.o_stride_head, 512);
    EXPECT_EQ(first.o_stride_split, 128 * 512);
    EXPECT_EQ(first.o_stride_token, 5 * 128 * 512);
    const auto second = arguments_of<Stage2Arguments>(device.launches[1]);
    EXPECT_EQ(second.partial_o, tensors.partial_o.address);
    EXPECT_EQ(second.o, tensors.o.address);
    EXPECT_EQ(second.block_s, 8);
    EXPECT_EQ(device.launches[1].arguments.size(), sizeof(Stage2Arguments) + sizeof(int));
  }
}

TEST(Launch, AMissingSymbolIsTheDevicesTrouble) {
  RecordingDevice device;
  device.missing_symbol = "mla_decode_stage2_fp32";
  const Outcome outcome =
      fp32_partials().launch(device, Module{0}, problem_of(1, 1, 16), tensors_with_addresses());
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.trouble().text.find("mla_decode_stage2_fp32"), std::string::npos);
}

}  // namespace
}  // namespace attest::mla_decode

#include "kernels/mla_decode/launch.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "harness/core/code_object_file.hpp"
#include "kernels/mla_decode/arguments.hpp"

namespace attest::mla_decode {
namespace {

constexpr int kProgramBudget =
    256;  // workgroups that the split rule aims at: aiter, mla_gluon.py:936-989
constexpr int kComputeUnits =
    304;  // of an MI300X: stage 2 is cut until it has as many programs (ROCm/aiter #4758)
constexpr int kXcds = 8;       // chiplets of an MI300X; consecutive workgroups go round them
constexpr int kMaxDSplit = 8;  // ROCm/aiter #4509: a slice of 64 columns at least
// A wave takes 128.
constexpr int kMaxDSplitOnHopper = 4;

int ceil_div(int a, int b) { return (a + b - 1) / b; }
int next_pow2(int x) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(x))); }
std::uint32_t dim(std::int64_t x) { return static_cast<std::uint32_t>(x); }

Batch batch_of(const Problem& problem, const MlaTensors& tensors, int num_splits) {
  return {.qo_indptr = tensors.qo_indptr.address,
          .kv_indptr = tensors.kv_indptr.address,
          .kv_last_page_len = tensors.kv_last_page_len.address,
          .page_shift = std::countr_zero(static_cast<unsigned>(problem.page_size)),
          .num_splits = num_splits};
}

Stage1Arguments stage1_arguments(const Problem& problem, const MlaTensors& tensors, int num_splits,
                                 bool partials_are_fp32) {
  const bool direct = num_splits == 1;  // bf16 straight into o, whose rows may be strided
  const std::int64_t split_rows = std::int64_t{problem.h_q} * kDV;
  constexpr double kLog2E = 1.4426950408889634074;
  return {.batch = batch_of(problem, tensors, num_splits),
          .q = tensors.q.address,
          .kv = tensors.kv.address,
          .kv_indices = tensors.kv_indices.address,
          .o = direct ? tensors.o.address : tensors.partial_o.address,
          .lse = direct ? tensors.lse.address : tensors.partial_lse.address,
          .q_stride_token = problem.q_stride_t(),
          .q_stride_head = problem.q_stride_h(),
          .o_stride_token = direct ? problem.o_stride_t() : num_splits * split_rows,
          .o_stride_split = direct ? 0 : split_rows,
          .o_stride_head = direct ? problem.o_stride_h() : kDV,
          .scale_log2 = static_cast<float>(problem.sm_scale * kLog2E),
          .h = problem.h_q,
          .split_major = split_major(problem.grid_order, num_splits),
          .o_is_fp32 = !direct && partials_are_fp32};
}

Stage2Arguments stage2_arguments(const Problem& problem, const MlaTensors& tensors,
                                 int num_splits) {
  return {.batch = batch_of(problem, tensors, num_splits),
          .partial_o = tensors.partial_o.address,
          .partial_lse = tensors.partial_lse.address,
          .o = tensors.o.address,
          .lse = tensors.lse.address,
          .o_stride_token = problem.o_stride_t(),
          .o_stride_head = problem.o_stride_h(),
          .h = problem.h_q,
          .block_s = block_s_rule(num_splits)};
}

Outcome launch_symbol(Device& device, Module module, const std::string& symbol,
                      const LaunchConfig& config, const KernelArguments& arguments) {
  const Result<Function> function = device.function(module, symbol);
  if (!function.ok()) return function.trouble();
  return device.launch(*function, config, arguments);
}

Contract contract_of(bool partials_are_fp32, int head_tile) {
  Contract contract;
  contract.arithmetic = {.exp_ulp = 1,   // v_exp_f32; results below 2^-126 are flushed to 0
                         .log_ulp = 1,   // v_log_f32
                         .divide_u = 3,  // v_rcp_f32: 2 u, the product: 1 u
                         .bf16_partials = !partials_are_fp32,
                         .tile_tokens = 16,  // attention_tile.hpp: kTileTokens
                         // Of a head tile of 16, four waves take the tiles of a split in turn.
                         .waves_per_split = head_tile == 16 ? 4 : 1,
                         .schedule_declared = true};
  contract.split_rule = {.min_tokens = kMinSplitTokens};
  contract.empty_row = EmptyRow::kZerosAndMinusInf;
  contract.run_to_run_bitwise = true;
  contract.layout_invariant = true;
  contract.batch_invariant = true;
  return contract;
}

// stage1_hopper.hpp: one running max over 64 tokens; other instructions for exp2, log2 and 1/x.
Contract contract_on_hopper(Contract contract) {
  contract.arithmetic.exp_ulp = 2;   // ex2.approx.ftz: 2^-22
  contract.arithmetic.log_ulp = 1;   // log2f
  contract.arithmetic.divide_u = 2;  // rcp.rn and the product: 1 u each
  contract.arithmetic.tile_tokens = 64;
  contract.arithmetic.waves_per_split = 1;
  return contract;
}

// By a word of harness/bucket.hpp. What no stage of the kernel did is the launcher's to explain.
SourcePlace source_of_stage(std::string_view stage, bool on_hopper) {
  constexpr std::string_view kHopper = "kernels/mla_decode/stage1_hopper.hpp";
  constexpr std::string_view kCdna = "kernels/mla_decode/online_softmax.hpp";
  if (stage == "scores") {
    return on_hopper ? SourcePlace{kHopper, "struct Softmax {"}
                     : SourcePlace{kCdna, "  ATTEST_INLINE bool to_weights("};
  }
  if (stage == "values") {
    return on_hopper ? SourcePlace{kHopper, "  ATTEST_INLINE void add_values("}
                     : SourcePlace{kCdna, "  ATTEST_INLINE static void add_block("};
  }
  if (stage == "stage1") return {"kernels/mla_decode/stage1.hpp", "ATTEST_INLINE void store_head("};
  if (stage == "merge" || stage == "stage2" || stage == "rounding") {
    return {"kernels/mla_decode/stage2.hpp", "ATTEST_INLINE void merge_splits("};
  }
  return {"kernels/mla_decode/launch.cpp", "  Outcome launch("};
}

class MlaDecode final : public Kernel {
 public:
  explicit MlaDecode(bool partials_are_fp32) : partials_are_fp32_(partials_are_fp32) {}

  std::string_view name() const override {
    return partials_are_fp32_ ? "mla_decode" : "mla_decode_bf16_partials";
  }
  std::string_view summary() const override {
    return partials_are_fp32_ ? "dense paged MLA decode, bf16, split KV, fp32 partials"
                              : "dense paged MLA decode, bf16, split KV, bf16 partials";
  }
  Contract contract(const Problem& problem) const override {
    return contract_of(partials_are_fp32_, head_tile(problem.h_q));
  }
  std::string why_unsupported(const Problem& problem) const override {
    if (problem.q_type != Storage::kBf16 || problem.kv_type != Storage::kBf16) {
      return "q and the cache in bf16 alone: this problem has fp8";
    }
    return why_invalid(problem);
  }
  int num_splits(const Problem& problem) const override {
    return problem.num_splits > 0 ? problem.num_splits
                                  : num_splits_rule(problem.b(), problem.max_s_q(), problem.h_q);
  }
  int num_splits_for(const Problem& problem, int processors) const override {
    const int tiles = ceil_div(problem.h_q, head_tile(problem.h_q));
    return std::clamp(processors / (problem.b() * problem.max_s_q() * tiles), 1, kMaxSplits);
  }
  Contract contract_for(const Problem& problem, std::string_view target) const override {
    return is_nvidia(target) ? contract_on_hopper(contract(problem)) : contract(problem);
  }
  std::string code_object(std::string_view target) const override {
    return code_object_file("mla_decode", target);
  }

  std::unique_ptr<Kernel> fresh() const override { return std::make_unique<MlaDecode>(*this); }
  SourcePlace source(std::string_view stage, std::string_view target) const override {
    return source_of_stage(stage, is_nvidia(target));
  }

  Outcome launch(Device& device, Module module, const Problem& problem,
                 const MlaTensors& tensors) const override {
    const int splits = num_splits(problem);
    KernelArguments stage1;
    stage1.add(stage1_arguments(problem, tensors, splits, partials_are_fp32_));
    const Outcome first =
        launch_symbol(device, module, "mla_decode_stage1_" + std::to_string(head_tile(problem.h_q)),
                      stage1_grid(problem, splits, device.target()), stage1);
    if (!first.ok() || splits == 1) return first;
    const LaunchConfig merge = stage2_grid(problem, device.target());
    KernelArguments stage2;
    stage2.add(stage2_arguments(problem, tensors, splits)).add(static_cast<int>(merge.block.x));
    return launch_symbol(device, module,
                         partials_are_fp32_ ? "mla_decode_stage2_fp32" : "mla_decode_stage2_bf16",
                         merge, stage2);
  }

 private:
  bool partials_are_fp32_;
};

}  // namespace

int head_tile(int h_q) { return h_q % 64 == 0 ? 64 : 16; }

int num_splits_rule(int b, int max_s_q, int h_q) {
  const int programs = b * max_s_q * ceil_div(h_q, head_tile(h_q));
  if (head_tile(h_q) == 16) return std::clamp(kProgramBudget / programs, 1, kMaxSplits);
  return std::min(next_pow2(ceil_div(kProgramBudget, programs)), kMaxSplits);
}

int block_s_rule(int num_splits) { return std::min(kMaxBlockS, next_pow2(num_splits)); }

int d_split_rule(std::int64_t rows_of_grid) {
  int d_split = 1;
  while (d_split < kMaxDSplit && rows_of_grid * d_split < kComputeUnits) d_split *= 2;
  return d_split;
}

bool split_major(GridOrder order, int num_splits) {
  return order == GridOrder::kAuto ? num_splits % kXcds == 0 : order == GridOrder::kSplitMajor;
}

LaunchConfig stage1_grid(const Problem& problem, int num_splits, std::string_view target) {
  const std::uint32_t z = dim(problem.max_s_q() * ceil_div(problem.h_q, head_tile(problem.h_q)));
  const Dim3 grid = split_major(problem.grid_order, num_splits)
                        ? Dim3{dim(num_splits), dim(problem.b()), z}
                        : Dim3{dim(problem.b()), dim(num_splits), z};
  LaunchConfig config{.grid = grid, .block = {kThreads, 1, 1}, .dynamic_lds_bytes = 0};
  if (is_nvidia(target)) {
    config.dynamic_lds_bytes = kHopperLdsBytes;
    if (head_tile(problem.h_q) == 64) config.block.x = kHopperThreads64;
  }
  return config;
}

LaunchConfig stage2_grid(const Problem& problem, std::string_view target) {
  const std::int64_t rows = std::int64_t{1} * problem.b() * problem.max_s_q() * problem.h_q;
  const bool on_hopper = is_nvidia(target);
  const int d_split = std::min(d_split_rule(rows), on_hopper ? kMaxDSplitOnHopper : kMaxDSplit);
  const int columns = on_hopper ? kHopperLaneColumns : 1;  // of a thread
  return {.grid = {dim(problem.h_q * d_split), dim(problem.max_s_q()), dim(problem.b())},
          .block = {dim(kDV / d_split / columns), 1, 1},
          .dynamic_lds_bytes = 0};
}

const Kernel& fp32_partials() {
  static const MlaDecode kernel(true);
  return kernel;
}

const Kernel& bf16_partials() {
  static const MlaDecode kernel(false);
  return kernel;
}

}  // namespace attest::mla_decode

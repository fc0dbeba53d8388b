#include "kernels/external/merge.hpp"

#include <algorithm>
#include <bit>
#include <vector>

#include "kernels/mla_decode/arguments.hpp"
#include "kernels/mla_decode/launch.hpp"

namespace attest::external {
namespace {

int log2_of(int power) { return std::countr_zero(static_cast<unsigned>(power)); }

// Stage 2 takes a split for live when it starts before s_kv and splits have 64 tokens at least.
// With tiles of 64 >> n tokens it is told that pages have 1 << n tokens: of s_kv pages, the last
// with one token, ceil(((s_kv - 1)
// * 2^n + 1) / 64) is ceil(s_kv * 2^n / 64).
int page_shift_of(const Problem& problem, const Partials& partials) {
  const int shift = log2_of(problem.page_size);
  return partials.tile == 0 ? shift : shift + log2_of(mla_decode::kMinSplitTokens / partials.tile);
}

// Rows of `row_bytes` of a query token's heads.
Outcome move_rows(Device& device, const Problem& p, int splits, std::size_t row_bytes,
                  const Buffer& from, const Buffer& to) {
  std::vector<std::byte> rows(from.bytes), moved(from.bytes);
  if (const Outcome read = device.read(from, 0, rows); !read.ok()) return read;
  const int s_q = p.max_s_q();
  for (int seq = 0; seq < p.b(); ++seq) {
    for (int split = 0; split < splits; ++split) {
      for (int i = 0; i < s_q; ++i) {
        const std::size_t theirs = (std::size_t{1} * seq * splits + split) * s_q + i;
        const std::size_t ours = (std::size_t{1} * seq * s_q + i) * splits + split;
        std::copy_n(&rows[theirs * row_bytes], row_bytes, &moved[ours * row_bytes]);
      }
    }
  }
  return device.write(to, 0, moved);
}

}  // namespace

Outcome reorder(Device& device, const Problem& problem, const Partials& from,
                const MlaTensors& to) {
  if (const Outcome ran = device.synchronize(); !ran.ok()) return ran;
  const std::size_t lse_bytes = problem.h_q * sizeof(float);
  const Outcome moved =
      move_rows(device, problem, from.num_splits, lse_bytes * kDV, from.o, to.partial_o);
  if (!moved.ok()) return moved;
  return move_rows(device, problem, from.num_splits, lse_bytes, from.lse, to.partial_lse);
}

Outcome launch_merge(Device& device, Module module, const Problem& problem,
                     const MlaTensors& tensors, const Partials& partials) {
  const Result<Function> function = device.function(module, "mla_decode_stage2_fp32");
  if (!function.ok()) return function.trouble();
  const mla_decode::Stage2Arguments arguments = {
      .batch = {.qo_indptr = tensors.qo_indptr.address,
                .kv_indptr = tensors.kv_indptr.address,
                .kv_last_page_len = tensors.kv_last_page_len.address,
                .page_shift = page_shift_of(problem, partials),
                .num_splits = partials.num_splits},
      .partial_o = partials.o.address,
      .partial_lse = partials.lse.address,
      .o = tensors.o.address,
      .lse = tensors.lse.address,
      .o_stride_token = problem.o_stride_t(),
      .o_stride_head = problem.o_stride_h(),
      .h = problem.h_q,
      .block_s = mla_decode::block_s_rule(partials.num_splits)};
  const LaunchConfig grid = mla_decode::stage2_grid(problem, device.target());
  KernelArguments packed;
  packed.add(arguments).add(static_cast<int>(grid.block.x));
  return device.launch(*function, grid, packed);
}

}  // namespace attest::external

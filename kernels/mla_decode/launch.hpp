// Family A: dense paged MLA decode with split KV. contract.md says in words what contract() says as
// data.
#pragma once
#include <string_view>

#include "harness/core/kernel.hpp"

namespace attest::mla_decode {

const Kernel& fp32_partials();  // "mla_decode"
const Kernel& bf16_partials();  // "mla_decode_bf16_partials"

// The launcher's choices, from the problem's shape alone: a captured graph stays right when lengths
// change.
int head_tile(int h_q);                            // 16 or 64 heads a program
int num_splits_rule(int b, int max_s_q, int h_q);  // 1..256
int block_s_rule(int num_splits);                  // splits that stage 2 weighs at a time
int d_split_rule(std::int64_t rows_of_grid);  // programs of stage 2 over the 512 columns of a row
bool split_major(GridOrder order, int num_splits);  // splits on grid axis x

LaunchConfig stage1_grid(const Problem& problem, int num_splits, std::string_view target);
LaunchConfig stage2_grid(const Problem& problem, std::string_view target);

}  // namespace attest::mla_decode

#include "kernels/external/aiter_objects.hpp"

#include <array>

namespace attest::external {
namespace {

constexpr std::array kObjects = {
    AiterObject{.name = "aiter_bf16_gqa16",
                .file = "mla_dec_stage1_bf16_a16w16_subQ16_mqa16.co",
                .symbol = "_ZN5aiter39mla_dec_stage1_bf16_a16w16_subQ16_mqa16E",
                .one_split = OneSplit::kFp32},
    AiterObject{.name = "aiter_bf16_gqa16_q4",
                .file = "mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co",
                .symbol = "_ZN5aiter39mla_a16w16_qh16_m16x4_n16x1_coex0_mask1E",
                .least_s_q = 2,
                .most_s_q = 4,
                .tile = 16,
                .rows_of_workgroup = 128},
    AiterObject{.name = "aiter_bf16_gqa16_q8",
                .file = "mla_a16w16_qh16_m32x4_n16x1_coex0_mask1.co",
                .symbol = "_ZN5aiter39mla_a16w16_qh16_m32x4_n16x1_coex0_mask1E",
                .least_s_q = 5,
                .most_s_q = 8,
                .tile = 16,
                .rows_of_workgroup = 128},
    AiterObject{.name = "aiter_bf16_gqa8",
                .file = "mla_a16w16_qh8_qseqlen1_gqaratio8_v3.co",
                .symbol = "_ZN5aiter36mla_a16w16_qh8_qseqlen1_gqaratio8_v3E",
                .heads = 8,
                .rows_of_workgroup = 8,
                .one_split = OneSplit::kFp32},
    AiterObject{.name = "aiter_bf16_gqa32",
                .file = "MLA_A16W16_1TG_4W_32mx1_16nx1_Coex0_Msk1_QH16.co",
                .symbol = "_ZN5aiter39mla_a16w16_qh16_m32x1_n16x1_coex0_mask1E",
                .heads = 32,
                .most_s_q = 8,
                .tile = 16,
                .rows_of_workgroup = 64,
                .one_split = OneSplit::kBf16NoLseElsewhere},
    AiterObject{.name = "aiter_bf16_gqa64",
                .file = "MLA_A16W16_1TG_4W_64mx1_16nx1_Coex0_Msk1_QH16.co",
                .symbol = "_ZN5aiter39mla_a16w16_qh16_m64x1_n16x1_coex0_mask1E",
                .heads = 64,
                .most_s_q = 8,
                .tile = 16,
                .rows_of_workgroup = 64,
                .one_split = OneSplit::kBf16NoLseElsewhere},
    AiterObject{.name = "aiter_bf16_gqa128",
                .file = "mla_dec_stage1_bf16_a16w16_subQ128_mqa128.co",
                .symbol = "_ZN5aiter41mla_dec_stage1_bf16_a16w16_subQ128_mqa128E",
                .heads = 128,
                .most_s_q = 8,
                .tile = 16,
                .rows_of_workgroup = 128},
    AiterObject{.name = "aiter_bf16_gqa8_ps",
                .file = "mla_dec_stage1_bf16_a16w16_subQ16_mqa16_ps.co",
                .symbol = "_ZN5aiter42mla_dec_stage1_bf16_a16w16_subQ16_mqa16_psE",
                .heads = 8,
                .least_s_q = 2,
                .most_s_q = 2,
                .persistent = true,
                .one_split = OneSplit::kFp32},
    AiterObject{.name = "aiter_bf16_gqa16_ps",
                .file = "mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps.co",
                .symbol = "_ZN5aiter42mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_psE",
                .most_s_q = 4,
                .persistent = true,
                .tile = 16,
                .one_split = OneSplit::kFp32},
};

}  // namespace

std::span<const AiterObject> aiter_objects() { return kObjects; }

}  // namespace attest::external

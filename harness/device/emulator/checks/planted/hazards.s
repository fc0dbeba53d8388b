// Pairs of instructions that the ISA wants further apart, and neighbours that are just far enough.
// Arguments: s[0:1] points at `const u32* in, u32* out`. One wave.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text

// --- MFMA: 16x16x16 in bf16 has 4 passes, so that 7 states must lie before a reader
mfma_read_one_state_early:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	s_nop 5
	v_add_f32_e32 v1, v11, v11  ; finds: hazards
	s_endpgm
	.size mfma_read_one_state_early, .-mfma_read_one_state_early

mfma_read_in_time:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	s_nop 6
	v_add_f32_e32 v1, v11, v11
	s_endpgm
	.size mfma_read_in_time, .-mfma_read_in_time

mfma_before_a_barrier:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	s_barrier
	v_add_f32_e32 v1, v11, v11
	s_endpgm
	.size mfma_before_a_barrier, .-mfma_before_a_barrier

mfma_other_register:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	v_add_f32_e32 v1, v12, v7
	s_endpgm
	.size mfma_other_register, .-mfma_other_register

mfma_stored_early:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_16x16x16_bf16 a[0:3], v[2:3], v[4:5], 0
	s_nop 4
	global_store_dword v0, a0, s[6:7]  ; finds: hazards
	s_endpgm
	.size mfma_stored_early, .-mfma_stored_early

mfma_result_overwritten:  ; kernel
	v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], 0
	s_nop 7
	v_mov_b32_e32 v20, 0  ; finds: hazards
	s_endpgm
	.size mfma_result_overwritten, .-mfma_result_overwritten

// The sum goes on in the same registers: no state is needed.
mfma_sum:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[8:11]
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[8:11]
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[8:11]
	s_endpgm
	.size mfma_sum, .-mfma_sum

mfma_sum_in_other_registers:  ; kernel
	v_mfma_f32_32x32x8_f16 v[16:31], v[2:3], v[4:5], 0
	s_nop 3
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[20:23]  ; finds: hazards
	s_endpgm
	.size mfma_sum_in_other_registers, .-mfma_sum_in_other_registers

mfma_result_is_a_factor:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	s_nop 5
	v_mfma_f32_16x16x16_bf16 v[16:19], v[10:11], v[4:5], 0  ; finds: hazards
	s_endpgm
	.size mfma_result_is_a_factor, .-mfma_result_is_a_factor

// C is read as the passes go on: 3 states for 4 passes.
mfma_c_overwritten:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[12:15]
	s_nop 1
	v_mov_b32_e32 v13, 0  ; finds: hazards
	s_endpgm
	.size mfma_c_overwritten, .-mfma_c_overwritten

mfma_c_overwritten_in_time:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], v[12:15]
	s_nop 2
	v_mov_b32_e32 v13, 0
	s_endpgm
	.size mfma_c_overwritten_in_time, .-mfma_c_overwritten_in_time

mfma_of_a_fresh_register:  ; kernel
	v_mov_b32_e32 v5, 0
	s_nop 0
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0  ; finds: hazards
	s_endpgm
	.size mfma_of_a_fresh_register, .-mfma_of_a_fresh_register

mfma_of_a_register_in_time:  ; kernel
	v_mov_b32_e32 v5, 0
	s_nop 1
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	s_endpgm
	.size mfma_of_a_register_in_time, .-mfma_of_a_register_in_time

// --- vector results
transcendental_result_at_once:  ; kernel
	v_exp_f32_e32 v1, v2
	v_add_f32_e32 v3, v1, v1  ; finds: hazards
	s_endpgm
	.size transcendental_result_at_once, .-transcendental_result_at_once

transcendental_results:  ; kernel
	v_exp_f32_e32 v1, v2
	v_exp_f32_e32 v4, v1
	v_mov_b32_e32 v5, v6
	v_add_f32_e32 v3, v4, v4
	s_endpgm
	.size transcendental_results, .-transcendental_results

dpp_of_a_fresh_register:  ; kernel
	v_mov_b32_e32 v1, 0
	v_mov_b32_dpp v2, v1 row_shl:1 row_mask:0xf bank_mask:0xf  ; finds: hazards
	s_endpgm
	.size dpp_of_a_fresh_register, .-dpp_of_a_fresh_register

// Only src0 goes through DPP.
dpp_beside_a_fresh_register:  ; kernel
	v_mov_b32_e32 v1, 0
	v_add_u32_dpp v2, v3, v1 row_shl:1 row_mask:0xf bank_mask:0xf
	s_endpgm
	.size dpp_beside_a_fresh_register, .-dpp_beside_a_fresh_register

dpp_in_time:  ; kernel
	v_mov_b32_e32 v1, 0
	s_nop 1
	v_mov_b32_dpp v2, v1 row_shl:1 row_mask:0xf bank_mask:0xf
	s_endpgm
	.size dpp_in_time, .-dpp_in_time

part_of_a_register:  ; kernel
	v_mov_b32_sdwa v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD
	v_mov_b32_e32 v3, v1  ; finds: hazards
	s_endpgm
	.size part_of_a_register, .-part_of_a_register

readlane_of_a_fresh_register:  ; kernel
	v_mov_b32_e32 v1, 0
	v_readfirstlane_b32 s4, v1  ; finds: hazards
	s_endpgm
	.size readlane_of_a_fresh_register, .-readlane_of_a_fresh_register

wide_store_overwritten:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_store_dwordx4 v0, v[4:7], s[6:7]
	s_nop 0
	v_mov_b32_e32 v6, 0  ; finds: hazards
	s_endpgm
	.size wide_store_overwritten, .-wide_store_overwritten

narrow_store_overwritten:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_store_dwordx2 v0, v[4:5], s[6:7]
	v_mov_b32_e32 v4, 0
	s_endpgm
	.size narrow_store_overwritten, .-narrow_store_overwritten

// --- scalar results of vector instructions
scalar_base_at_once:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s6
	s_nop 0
	v_readfirstlane_b32 s6, v1
	s_nop 3
	global_store_dword v0, v1, s[6:7]  ; finds: hazards
	s_endpgm
	.size scalar_base_at_once, .-scalar_base_at_once

scalar_base_in_time:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	v_mov_b32_e32 v1, s6
	s_nop 0
	v_readfirstlane_b32 s6, v1
	s_nop 4
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size scalar_base_in_time, .-scalar_base_in_time

mask_at_once:  ; kernel
	v_cmp_eq_u32_e32 vcc, v0, v1
	v_cndmask_b32_e32 v2, v3, v4, vcc  ; finds: hazards
	s_endpgm
	.size mask_at_once, .-mask_at_once

// Listed, no mistake: shipped kernels have as little.
mask_after_one_state:  ; kernel
	v_cmp_eq_u32_e32 vcc, v0, v1
	s_nop 0
	v_cndmask_b32_e32 v2, v3, v4, vcc
	s_endpgm
	.size mask_after_one_state, .-mask_after_one_state

mask_in_time:  ; kernel
	v_cmp_eq_u32_e32 vcc, v0, v1
	s_nop 1
	v_cndmask_b32_e32 v2, v3, v4, vcc
	s_endpgm
	.size mask_in_time, .-mask_in_time

lane_select_at_once:  ; kernel
	v_readfirstlane_b32 s4, v1
	s_nop 2
	v_readlane_b32 s5, v2, s4  ; finds: hazards
	s_endpgm
	.size lane_select_at_once, .-lane_select_at_once

division_at_once:  ; kernel
	v_div_scale_f32 v1, vcc, v2, v3, v2
	s_nop 2
	v_div_fmas_f32 v4, v1, v2, v3  ; finds: hazards
	s_endpgm
	.size division_at_once, .-division_at_once

exec_at_once:  ; kernel
	v_cmpx_eq_u32_e32 vcc, v0, v0
	s_nop 2
	v_readlane_b32 s5, v2, 3  ; finds: hazards
	s_endpgm
	.size exec_at_once, .-exec_at_once

exec_by_a_scalar_instruction:  ; kernel
	s_mov_b64 exec, -1
	v_readlane_b32 s5, v2, 3
	s_endpgm
	.size exec_by_a_scalar_instruction, .-exec_by_a_scalar_instruction

// --- scalar state
// Listed, no mistake: as above.
m0_at_once:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	s_mov_b32 m0, 0
	global_load_lds_dword v0, s[4:5]
	s_waitcnt vmcnt(0)
	s_endpgm
	.size m0_at_once, .-m0_at_once

m0_in_time:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_mov_b32 m0, 0
	s_waitcnt lgkmcnt(0)
	global_load_lds_dword v0, s[4:5]
	s_waitcnt vmcnt(0)
	s_endpgm
	.size m0_in_time, .-m0_in_time

mode_read_at_once:  ; kernel
	s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0
	s_nop 0
	s_getreg_b32 s4, hwreg(HW_REG_MODE)  ; finds: hazards
	s_endpgm
	.size mode_read_at_once, .-mode_read_at_once

across_a_branch:  ; kernel
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	s_branch .Lacross
	s_nop 7
.Lacross:
	v_add_f32_e32 v1, v8, v8  ; finds: hazards
	s_endpgm
	.size across_a_branch, .-across_a_branch

	.macro describe name
	.globl \name
	.type \name,@function
	.section .rodata,"a"
	.p2align 6
	.amdhsa_kernel \name
		.amdhsa_group_segment_fixed_size 1024
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_next_free_vgpr 80
		.amdhsa_next_free_sgpr 32
		.amdhsa_accum_offset 64
	.end_amdhsa_kernel
	.text
	.endm

	describe mfma_read_one_state_early
	describe mfma_read_in_time
	describe mfma_before_a_barrier
	describe mfma_other_register
	describe mfma_stored_early
	describe mfma_result_overwritten
	describe mfma_sum
	describe mfma_sum_in_other_registers
	describe mfma_result_is_a_factor
	describe mfma_c_overwritten
	describe mfma_c_overwritten_in_time
	describe mfma_of_a_fresh_register
	describe mfma_of_a_register_in_time
	describe transcendental_result_at_once
	describe transcendental_results
	describe dpp_of_a_fresh_register
	describe dpp_beside_a_fresh_register
	describe dpp_in_time
	describe part_of_a_register
	describe readlane_of_a_fresh_register
	describe wide_store_overwritten
	describe narrow_store_overwritten
	describe scalar_base_at_once
	describe scalar_base_in_time
	describe mask_at_once
	describe mask_after_one_state
	describe mask_in_time
	describe lane_select_at_once
	describe division_at_once
	describe exec_at_once
	describe exec_by_a_scalar_instruction
	describe m0_at_once
	describe m0_in_time
	describe mode_read_at_once
	describe across_a_branch

	.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: mfma_read_one_state_early, .symbol: mfma_read_one_state_early.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_read_in_time, .symbol: mfma_read_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_before_a_barrier, .symbol: mfma_before_a_barrier.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_other_register, .symbol: mfma_other_register.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_stored_early, .symbol: mfma_stored_early.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_result_overwritten, .symbol: mfma_result_overwritten.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_sum, .symbol: mfma_sum.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_sum_in_other_registers, .symbol: mfma_sum_in_other_registers.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_result_is_a_factor, .symbol: mfma_result_is_a_factor.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_c_overwritten, .symbol: mfma_c_overwritten.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_c_overwritten_in_time, .symbol: mfma_c_overwritten_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_of_a_fresh_register, .symbol: mfma_of_a_fresh_register.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mfma_of_a_register_in_time, .symbol: mfma_of_a_register_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: transcendental_result_at_once, .symbol: transcendental_result_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: transcendental_results, .symbol: transcendental_results.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: dpp_of_a_fresh_register, .symbol: dpp_of_a_fresh_register.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: dpp_beside_a_fresh_register, .symbol: dpp_beside_a_fresh_register.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: dpp_in_time, .symbol: dpp_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: part_of_a_register, .symbol: part_of_a_register.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: readlane_of_a_fresh_register, .symbol: readlane_of_a_fresh_register.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: wide_store_overwritten, .symbol: wide_store_overwritten.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: narrow_store_overwritten, .symbol: narrow_store_overwritten.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: scalar_base_at_once, .symbol: scalar_base_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: scalar_base_in_time, .symbol: scalar_base_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mask_at_once, .symbol: mask_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mask_after_one_state, .symbol: mask_after_one_state.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mask_in_time, .symbol: mask_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: lane_select_at_once, .symbol: lane_select_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: division_at_once, .symbol: division_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: exec_at_once, .symbol: exec_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: exec_by_a_scalar_instruction, .symbol: exec_by_a_scalar_instruction.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: m0_at_once, .symbol: m0_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: m0_in_time, .symbol: m0_in_time.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: mode_read_at_once, .symbol: mode_read_at_once.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: across_a_branch, .symbol: across_a_branch.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
	.end_amdgpu_metadata

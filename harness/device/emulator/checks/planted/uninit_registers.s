// Registers that nobody wrote and that reach an address, a branch, EXEC or memory; and neighbours
// where they do not. Arguments: s[0:1] points at `const u32* in, u32* out`. One wave.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text

stored:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	v_add_u32_e32 v2, 1, v1
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v2, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size stored, .-stored

in_an_address:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_and_b32_e32 v1, 0xfc, v1
	s_waitcnt lgkmcnt(0)
	global_load_dword v2, v1, s[4:5]  ; finds: uninitialised
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt vmcnt(0)
	global_store_dword v0, v2, s[6:7]
	s_endpgm
	.size in_an_address, .-in_an_address

in_an_lds_address:  ; kernel
	v_and_b32_e32 v1, 0xfc, v1
	ds_write_b32 v1, v0  ; finds: uninitialised
	s_endpgm
	.size in_an_lds_address, .-in_an_lds_address

in_a_scalar_offset:  ; kernel
	s_and_b32 s20, s20, 12
	s_load_dword s4, s[0:1], s20  ; finds: uninitialised
	s_endpgm
	.size in_a_scalar_offset, .-in_a_scalar_offset

in_a_branch:  ; kernel
	s_cmp_lg_u32 s20, 0
	s_cbranch_scc1 .Lbranch  ; finds: uninitialised
	s_nop 0
.Lbranch:
	s_endpgm
	.size in_a_branch, .-in_a_branch

in_a_vector_condition:  ; kernel
	v_cmp_gt_u32_e32 vcc, 5, v1
	s_cbranch_vccz .Lcondition  ; finds: uninitialised
	s_nop 0
.Lcondition:
	s_endpgm
	.size in_a_vector_condition, .-in_a_vector_condition

in_exec:  ; kernel
	v_cmp_gt_u32_e32 vcc, 5, v1
	s_and_saveexec_b64 s[8:9], vcc  ; finds: uninitialised
	v_mov_b32_e32 v2, 0
	s_endpgm
	.size in_exec, .-in_exec

through_lanes:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_mov_b32_e32 v1, 0
	v_cmp_gt_u32_e32 vcc, 8, v0
	v_cndmask_b32_e32 v1, v1, v2, vcc
	v_lshlrev_b32_e32 v0, 2, v0
	v_mov_b32_dpp v3, v1 row_shl:4 row_mask:0xf bank_mask:0xf bound_ctrl:0
	v_readlane_b32 s8, v3, 5
	v_mov_b32_e32 v4, s8
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v4, s[6:7]
	v_readlane_b32 s8, v3, 2
	v_mov_b32_e32 v4, s8
	global_store_dword v0, v4, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size through_lanes, .-through_lanes

// Element (0, 0) of A is unknown, so row 0 of the product is: lanes 0 to 15 of its first register.
matrix_row:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	v_writelane_b32 v2, s20, 0
	v_mov_b32_e32 v3, 0
	s_nop 1
	v_mfma_f32_16x16x16_bf16 v[8:11], v[2:3], v[4:5], 0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	s_nop 7
	global_store_dword v0, v9, s[6:7]
	s_mov_b64 exec, 0xffff0000
	global_store_dword v0, v8, s[6:7]
	s_mov_b64 exec, -1
	global_store_dword v0, v8, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size matrix_row, .-matrix_row

// Lane 3 is unknown, and goes to lane 2 alone.
swizzled:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_mov_b32_e32 v1, 0
	v_writelane_b32 v1, s20, 3
	v_lshlrev_b32_e32 v0, 2, v0
	ds_swizzle_b32 v2, v1 offset:swizzle(SWAP,1)
	s_waitcnt lgkmcnt(0)
	s_mov_b64 exec, 8
	global_store_dword v0, v2, s[6:7]
	s_mov_b64 exec, 4
	global_store_dword v0, v2, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size swizzled, .-swizzled

matrix_of_blocks:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	v_writelane_b32 v2, s20, 0
	v_mov_b32_e32 v3, 0
	s_nop 1
	v_mfma_f32_4x4x4_16b_f16 v[8:11], v[2:3], v[4:5], 0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	s_nop 7
	global_store_dword v0, v8, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size matrix_of_blocks, .-matrix_of_blocks

// --- no mistakes
known_after_all:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_xor_b32_e32 v2, v2, v2
	v_sub_u32_e32 v3, v3, v3
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_store_dwordx2 v0, v[2:3], s[6:7]
	s_endpgm
	.size known_after_all, .-known_after_all

lanes_that_do_not_run:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_cmp_gt_u32_e32 vcc, 8, v0
	v_lshlrev_b32_e32 v0, 2, v0
	s_and_saveexec_b64 s[8:9], vcc
	v_mov_b32_e32 v1, 3
	s_mov_b64 exec, s[8:9]
	v_add_u32_e32 v2, 1, v1
	s_and_b64 exec, exec, vcc
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v2, s[6:7]
	s_endpgm
	.size lanes_that_do_not_run, .-lanes_that_do_not_run

chosen_by_a_mask:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_mov_b32_e32 v1, 0
	v_cmp_le_u32_e32 vcc, 0, v0
	v_lshlrev_b32_e32 v0, 2, v0
	v_cndmask_b32_e32 v1, v2, v1, vcc
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size chosen_by_a_mask, .-chosen_by_a_mask

// Unknown bits of a mask, under lanes that do not run.
masks_bit_by_bit:  ; kernel
	v_cmp_gt_u32_e32 vcc, 8, v0
	s_and_saveexec_b64 s[8:9], vcc
	s_andn2_b64 s[10:11], s[10:11], exec
	s_and_saveexec_b64 s[12:13], s[10:11]
	s_or_b64 s[14:15], s[10:11], s[8:9]
	s_mov_b64 exec, s[14:15]
	s_endpgm
	.size masks_bit_by_bit, .-masks_bit_by_bit

// A compiler leaves the half that op_sel does not take.
half_of_a_pair:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 0
	v_mov_b32_e32 v4, 0
	v_pk_mul_f32 v[2:3], v[2:3], v[4:5] op_sel_hi:[1,0]
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_store_dwordx2 v0, v[2:3], s[6:7]
	s_endpgm
	.size half_of_a_pair, .-half_of_a_pair

halves_one_by_one:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_short_d16 v1, v0, s[4:5]
	global_load_short_d16_hi v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size halves_one_by_one, .-halves_one_by_one

// --- VGPR indexing: the registers are those that M0 says.
indexed_destination:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	v_mov_b32_e32 v1, 5
	v_mov_b32_e32 v8, 0
	s_mov_b32 s8, 2
	s_set_gpr_idx_on s8, gpr_idx(DST)
	v_mov_b32_e32 v8, v1
	s_set_gpr_idx_off
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v10, s[6:7]
	s_endpgm
	.size indexed_destination, .-indexed_destination

behind_an_indexed_destination:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	v_mov_b32_e32 v1, 5
	s_mov_b32 s8, 2
	s_set_gpr_idx_on s8, gpr_idx(DST)
	v_mov_b32_e32 v8, v1
	s_set_gpr_idx_off
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v8, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size behind_an_indexed_destination, .-behind_an_indexed_destination

indexed_source:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	v_mov_b32_e32 v1, 5
	s_mov_b32 s8, 2
	s_set_gpr_idx_on s8, gpr_idx(SRC0)
	v_mov_b32_e32 v8, v1
	s_set_gpr_idx_off
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v8, s[6:7]  ; finds: uninitialised
	s_endpgm
	.size indexed_source, .-indexed_source

indexed_source_of_what_was_written:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	v_mov_b32_e32 v3, 5
	s_mov_b32 s8, 2
	s_set_gpr_idx_on s8, gpr_idx(SRC0)
	v_mov_b32_e32 v8, v1
	s_set_gpr_idx_off
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v8, s[6:7]
	s_endpgm
	.size indexed_source_of_what_was_written, .-indexed_source_of_what_was_written

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

	describe stored
	describe in_an_address
	describe in_an_lds_address
	describe in_a_scalar_offset
	describe in_a_branch
	describe in_a_vector_condition
	describe in_exec
	describe through_lanes
	describe matrix_row
	describe known_after_all
	describe lanes_that_do_not_run
	describe chosen_by_a_mask
	describe masks_bit_by_bit
	describe half_of_a_pair
	describe halves_one_by_one
	describe swizzled
	describe matrix_of_blocks
	describe indexed_destination
	describe indexed_source
	describe indexed_source_of_what_was_written
	describe behind_an_indexed_destination

	.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: stored, .symbol: stored.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: in_an_address, .symbol: in_an_address.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: in_an_lds_address, .symbol: in_an_lds_address.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: in_a_scalar_offset, .symbol: in_a_scalar_offset.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: in_a_branch, .symbol: in_a_branch.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: in_a_vector_condition, .symbol: in_a_vector_condition.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: in_exec, .symbol: in_exec.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: through_lanes, .symbol: through_lanes.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: matrix_row, .symbol: matrix_row.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: known_after_all, .symbol: known_after_all.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: lanes_that_do_not_run, .symbol: lanes_that_do_not_run.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: chosen_by_a_mask, .symbol: chosen_by_a_mask.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: masks_bit_by_bit, .symbol: masks_bit_by_bit.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: half_of_a_pair, .symbol: half_of_a_pair.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: halves_one_by_one, .symbol: halves_one_by_one.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: indexed_destination, .symbol: indexed_destination.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: indexed_source, .symbol: indexed_source.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: indexed_source_of_what_was_written, .symbol: indexed_source_of_what_was_written.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: behind_an_indexed_destination, .symbol: behind_an_indexed_destination.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: swizzled, .symbol: swizzled.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: matrix_of_blocks, .symbol: matrix_of_blocks.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
	.end_amdgpu_metadata

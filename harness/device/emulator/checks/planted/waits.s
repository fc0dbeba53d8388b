// Registers that are used before an s_waitcnt has waited for their load, and neighbours that wait
// for just enough. Arguments: s[0:1] points at `const u32* in, u32* out`. One wave.
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.text

// --- memory: in order
vmcnt_one_too_large:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	global_load_dword v2, v0, s[4:5] offset:256
	s_waitcnt vmcnt(1)
	v_add_u32_e32 v3, v1, v2  ; finds: waits
	global_store_dword v0, v3, s[6:7]
	s_endpgm
	.size vmcnt_one_too_large, .-vmcnt_one_too_large

vmcnt_that_leaves_a_later_load:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	global_load_dword v2, v0, s[4:5] offset:256
	s_waitcnt vmcnt(1)
	v_add_u32_e32 v3, v1, v1
	s_waitcnt vmcnt(0)
	v_add_u32_e32 v3, v3, v2
	global_store_dword v0, v3, s[6:7]
	s_endpgm
	.size vmcnt_that_leaves_a_later_load, .-vmcnt_that_leaves_a_later_load

// A store counts in vmcnt too, so that one more may be left.
vmcnt_that_leaves_a_store:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	global_store_dword v0, v0, s[6:7] offset:256
	s_waitcnt vmcnt(1)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size vmcnt_that_leaves_a_store, .-vmcnt_that_leaves_a_store

stored_before_it_is_loaded:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dwordx4 v[4:7], v0, s[4:5]
	global_store_dword v0, v7, s[6:7]  ; finds: waits
	s_endpgm
	.size stored_before_it_is_loaded, .-stored_before_it_is_loaded

// The load would come after the move, and undo it.
overwritten_while_loading:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	v_mov_b32_e32 v1, 7  ; finds: waits
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size overwritten_while_loading, .-overwritten_while_loading

// Loads of one kind write in order.
loaded_twice_in_order:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	global_load_dword v1, v0, s[4:5] offset:256
	s_waitcnt vmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size loaded_twice_in_order, .-loaded_twice_in_order

wait_in_a_branch_not_taken:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	s_cmp_eq_u32 s4, s4
	s_cbranch_scc1 .Lskipped
	s_waitcnt vmcnt(0)
.Lskipped:
	global_store_dword v0, v1, s[6:7]  ; finds: waits
	s_endpgm
	.size wait_in_a_branch_not_taken, .-wait_in_a_branch_not_taken

// --- scalar loads: in any order
scalar_loads_in_any_order:  ; kernel
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_load_dwordx2 s[6:7], s[0:1], 0x8
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(1)
	global_load_dword v1, v0, s[4:5]  ; finds: waits
	s_waitcnt vmcnt(0) lgkmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size scalar_loads_in_any_order, .-scalar_loads_in_any_order

scalar_loads_waited_for:  ; kernel
	s_load_dwordx2 s[4:5], s[0:1], 0x0
	s_load_dwordx2 s[6:7], s[0:1], 0x8
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	global_load_dword v1, v0, s[4:5]
	s_waitcnt vmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size scalar_loads_waited_for, .-scalar_loads_waited_for

// --- LDS: in order, in one counter with scalar loads
lds_read_not_waited_for:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	ds_write_b32 v0, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v1, v0
	v_add_u32_e32 v1, 1, v1  ; finds: waits
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size lds_read_not_waited_for, .-lds_read_not_waited_for

lds_reads_one_by_one:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	ds_write_b32 v0, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v1, v0
	ds_read_b32 v2, v0
	s_waitcnt lgkmcnt(1)
	v_add_u32_e32 v3, 1, v1
	s_waitcnt lgkmcnt(0)
	v_add_u32_e32 v3, v3, v2
	global_store_dword v0, v3, s[6:7]
	s_endpgm
	.size lds_reads_one_by_one, .-lds_reads_one_by_one

// The scalar load may be what the counter no longer counts.
lds_read_counted_with_a_scalar_load:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	ds_write_b32 v0, v0
	s_waitcnt lgkmcnt(0)
	ds_read_b32 v1, v0
	s_load_dword s8, s[0:1], 0x0
	s_waitcnt lgkmcnt(1)
	v_add_u32_e32 v1, 1, v1  ; finds: waits
	s_waitcnt lgkmcnt(0)
	global_store_dword v0, v1, s[6:7]
	s_endpgm
	.size lds_read_counted_with_a_scalar_load, .-lds_read_counted_with_a_scalar_load

permute_not_waited_for:  ; kernel
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	v_lshlrev_b32_e32 v0, 2, v0
	s_waitcnt lgkmcnt(0)
	ds_bpermute_b32 v1, v0, v0
	global_store_dword v0, v1, s[6:7]  ; finds: waits
	s_endpgm
	.size permute_not_waited_for, .-permute_not_waited_for

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

	describe vmcnt_one_too_large
	describe vmcnt_that_leaves_a_later_load
	describe vmcnt_that_leaves_a_store
	describe stored_before_it_is_loaded
	describe overwritten_while_loading
	describe loaded_twice_in_order
	describe wait_in_a_branch_not_taken
	describe scalar_loads_in_any_order
	describe scalar_loads_waited_for
	describe lds_read_not_waited_for
	describe lds_reads_one_by_one
	describe lds_read_counted_with_a_scalar_load
	describe permute_not_waited_for

	.amdgpu_metadata
amdhsa.version: [1, 2]
amdhsa.kernels:
  - {.name: vmcnt_one_too_large, .symbol: vmcnt_one_too_large.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: vmcnt_that_leaves_a_later_load, .symbol: vmcnt_that_leaves_a_later_load.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: vmcnt_that_leaves_a_store, .symbol: vmcnt_that_leaves_a_store.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: stored_before_it_is_loaded, .symbol: stored_before_it_is_loaded.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: overwritten_while_loading, .symbol: overwritten_while_loading.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: loaded_twice_in_order, .symbol: loaded_twice_in_order.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: wait_in_a_branch_not_taken, .symbol: wait_in_a_branch_not_taken.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: scalar_loads_in_any_order, .symbol: scalar_loads_in_any_order.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: scalar_loads_waited_for, .symbol: scalar_loads_waited_for.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: lds_read_not_waited_for, .symbol: lds_read_not_waited_for.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: lds_reads_one_by_one, .symbol: lds_reads_one_by_one.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: lds_read_counted_with_a_scalar_load, .symbol: lds_read_counted_with_a_scalar_load.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
  - {.name: permute_not_waited_for, .symbol: permute_not_waited_for.kd, .kernarg_segment_size: 16, .kernarg_segment_align: 8,
     .group_segment_fixed_size: 1024, .private_segment_fixed_size: 0, .wavefront_size: 64,
     .sgpr_count: 32, .vgpr_count: 80, .max_flat_workgroup_size: 64}
	.end_amdgpu_metadata

attest_library(attest_executor SOURCES
  emulator/wave.cpp emulator/decode.cpp emulator/decode_text.cpp emulator/decode_operand.cpp
  emulator/execute.cpp emulator/arrival.cpp emulator/resident.cpp emulator/interleave.cpp emulator/store_buffer.cpp
  emulator/launch_state.cpp emulator/snippet.cpp
  emulator/ops_scalar.cpp emulator/ops_control.cpp emulator/ops_vector_integer.cpp emulator/ops_vector_float.cpp emulator/ops_vector_double.cpp emulator/ops_vector_fp8.cpp emulator/ops_vector_dot.cpp
  emulator/ops_vector_compare.cpp emulator/ops_vector_packed.cpp emulator/ops_lane.cpp emulator/ops_index.cpp
  emulator/ops_lds.cpp emulator/ops_global.cpp emulator/ops_buffer.cpp emulator/ops_matrix.cpp emulator/dot_product.cpp
  emulator/checks/monitor.cpp emulator/checks/reports.cpp emulator/checks/uses.cpp emulator/checks/register_checks.cpp
  emulator/checks/pending_loads.cpp emulator/checks/undefined_registers.cpp emulator/checks/spread.cpp emulator/checks/hazard_rules.cpp
  emulator/checks/hazard_checks.cpp emulator/checks/lds_checks.cpp emulator/checks/lds_shadow.cpp emulator/checks/lds_waits.cpp emulator/checks/barrier_checks.cpp
  emulator/checks/global_checks.cpp emulator/checks/global_races.cpp
  emulator/checks/granule_bits.cpp emulator/checks/race_log.cpp emulator/checks/tracked_buffer.cpp emulator/checks/written_bytes.cpp
  emulator/checks/xcd_caches.cpp emulator/checks/cached_buffer.cpp
  LINK attest_core attest_emulator)
target_compile_options(attest_executor PRIVATE -O3)
target_include_directories(attest_executor SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(attest_executor PRIVATE ${attest_llvm})

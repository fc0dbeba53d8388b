# Tests of the tree itself (harness/tree_test.cpp), that each header compiles alone, and of the program end to end.
if(NOT ATTEST_TESTS)
  return()
endif()
attest_test(attest_tree_test SOURCES harness/tree_test.cpp)

# Each header on its own, the host's as C++20 and the kernels' as device code. A target, so that only what changed is
# compiled again; not a part of ALL, so that a first `./attest nightly` does not wait for it: a test builds it.
file(GLOB_RECURSE attest_all_headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
  fuzz/*.hpp golden/*.hpp harness/*.hpp kernels/*.hpp reference/*.hpp reports/*.hpp)
set(attest_host_headers "")
set(attest_device_stamps "")
foreach(header ${attest_all_headers})
  # A header of device code includes neither the standard library nor harness/ (kernels/device/gpu.hpp says why).
  file(STRINGS ${header} host_includes REGEX "^#include (<|\"harness/)")
  string(REPLACE "/" "." name ${header})
  set(unit ${PROJECT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${header}\"\n")
  if(header MATCHES "^kernels/.*hopper" AND NOT host_includes)  # for NVIDIA alone
    if(attest_nvcc)
      set(stamp ${PROJECT_BINARY_DIR}/headers/${name}.checked)
      add_custom_command(OUTPUT ${stamp} DEPENDS ${unit} DEPFILE ${stamp}.d VERBATIM
        COMMAND ${attest_nvcc} ${attest_nvidia_flags} -std=c++17 -I${PROJECT_SOURCE_DIR} -MD -MT ${stamp} -MF ${stamp}.d -o ${stamp} ${unit}
        COMMENT "Header ${header}")
      list(APPEND attest_device_stamps ${stamp})
    endif()
  elseif(header MATCHES "^kernels/" AND NOT host_includes)
    set(stamp ${PROJECT_BINARY_DIR}/headers/${name}.checked)
    add_custom_command(OUTPUT ${stamp} DEPENDS ${unit} DEPFILE ${stamp}.d VERBATIM
      COMMAND ${attest_hip_clang} ${attest_amd_flags} --offload-arch=gfx942 -Werror -fsyntax-only -I${PROJECT_SOURCE_DIR} -MD -MT ${stamp} -MF ${stamp}.d ${unit}
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      COMMENT "Header ${header}")
    list(APPEND attest_device_stamps ${stamp})
  else()
    list(APPEND attest_host_headers ${unit})
  endif()
endforeach()
add_library(attest_headers_host OBJECT EXCLUDE_FROM_ALL ${attest_host_headers})
target_link_libraries(attest_headers_host PRIVATE attest_options fmt::fmt nlohmann_json::nlohmann_json
  CLI11::CLI11 GTest::gtest)
target_include_directories(attest_headers_host SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS} ${HDF5_C_INCLUDE_DIRS})
# What tests' headers find these at does not matter to whether they compile.
target_compile_definitions(attest_headers_host PRIVATE
  ATTEST_SOURCE_DIR="" ATTEST_CODE_OBJECT_DIR="" ATTEST_TEST_KERNELS_DIR=""
  ATTEST_PLANTED_SOURCES="" ATTEST_PLANTED_OBJECTS="")
target_compile_options(attest_headers_host PRIVATE -O0)
add_custom_target(attest_headers DEPENDS ${attest_device_stamps})
add_dependencies(attest_headers attest_headers_host)
add_test(NAME Tree.EachHeaderCompilesAlone
  COMMAND ${CMAKE_COMMAND} --build ${PROJECT_BINARY_DIR} --target attest_headers)
set_tests_properties(Tree.EachHeaderCompilesAlone PROPERTIES TIMEOUT 600 RUN_SERIAL TRUE)

find_program(ATTEST_CLANG_TIDY clang-tidy-19)
if(ATTEST_CLANG_TIDY)
  add_test(NAME Tree.NamesAndFunctionSizesPassClangTidy
    COMMAND bash ${PROJECT_SOURCE_DIR}/harness/clang_tidy_check.sh ${ATTEST_CLANG_TIDY} ${PROJECT_BINARY_DIR})
  set_tests_properties(Tree.NamesAndFunctionSizesPassClangTidy PROPERTIES TIMEOUT 1200 RUN_SERIAL TRUE)
endif()

# The program on input that it cannot take: one test a function test_NAME of the scripts.
set(attest_bad_input ${PROJECT_SOURCE_DIR}/harness/bad_input_test.sh)
set(attest_functions "")
foreach(script bad_input_test.sh bad_input_results.sh bad_input_device.sh)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/${script})
  file(STRINGS ${PROJECT_SOURCE_DIR}/harness/${script} functions REGEX "^test_[A-Za-z0-9]+\\(\\)")
  list(APPEND attest_functions ${functions})
endforeach()
foreach(function ${attest_functions})
  string(REGEX REPLACE "^test_([A-Za-z0-9]+).*" "\\1" name ${function})
  if(ATTEST_SANITIZE MATCHES "address" AND name MATCHES "^OutOfMemory")
    continue()  # AddressSanitizer reserves terabytes of address space, which is what these tests limit
  endif()
  add_test(NAME BadInput.${name}
    COMMAND bash ${attest_bad_input} $<TARGET_FILE:attest_cli> ${ATTEST_CODE_OBJECT_DIR} ${name})
  set_tests_properties(BadInput.${name} PROPERTIES LABELS bad_input TIMEOUT 300)
endforeach()

# What reports write, held against the schema of its format: one test a function test_NAME of the script. Skipped where
# the tools are missing (.ci/run installs them).
set(attest_schemas_test ${PROJECT_SOURCE_DIR}/reports/schemas/schemas_test.sh)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${attest_schemas_test})
file(STRINGS ${attest_schemas_test} attest_functions REGEX "^test_[A-Za-z0-9]+\\(\\)")
foreach(function ${attest_functions})
  string(REGEX REPLACE "^test_([A-Za-z0-9]+).*" "\\1" name ${function})
  add_test(NAME Schemas.${name}
    COMMAND bash ${attest_schemas_test} $<TARGET_FILE:attest_cli> ${ATTEST_CODE_OBJECT_DIR}
      ${PROJECT_SOURCE_DIR}/build ${name})
  set_tests_properties(Schemas.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()

# A nightly under faults: one test a function test_NAME of the scripts.
set(attest_nightly_faults ${PROJECT_SOURCE_DIR}/harness/nightly_faults_test.sh)
set(attest_functions)
foreach(script nightly_faults_test.sh nightly_faults_stops.sh)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/harness/${script})
  file(STRINGS ${PROJECT_SOURCE_DIR}/harness/${script} functions REGEX "^test_[A-Za-z0-9]+\\(\\)")
  list(APPEND attest_functions ${functions})
endforeach()
foreach(function ${attest_functions})
  string(REGEX REPLACE "^test_([A-Za-z0-9]+).*" "\\1" name ${function})
  add_test(NAME NightlyFaults.${name}
    COMMAND bash ${attest_nightly_faults} $<TARGET_FILE:attest_faulty> ${ATTEST_CODE_OBJECT_DIR} ${name})
  set_tests_properties(NightlyFaults.${name} PROPERTIES LABELS nightly_faults SKIP_RETURN_CODE 77 TIMEOUT 600)
endforeach()

# The healthy kernels under all checks: no report, in graphs neither, whose batches shrink and grow.
add_test(NAME Checks.GiveNoReportOnTheHealthyKernels
  COMMAND attest_cli run --suite smoke --suite trajectories --check
    v1:k=mla_decode:h=1:s=65:splits=2:steps=launch.add70.capture.dirty.replay
    v1:k=mla_decode:h=1:s=3,5:splits=2:dist=one_hot:steps=capture.finish0.launch.dirty.replay
    v1:k=mla_decode:h=1:s=0x2:splits=1:dist=one_hot:steps=launch.finish0.grow0,1.launch
    v1:k=mla_decode:h=1:s=0:splits=1:dist=one_hot:steps=capture.pad2.launch.grow0,1.replay)
add_test(NAME Checks.GiveNoReportOnTheHealthyKernelsUnderOtherSchedules
  COMMAND attest_cli run --check --schedules 20 v1:k=mla_decode:h=12:s=65,17:q=2:page=16:splits=2
    v1:k=mla_decode_bf16_partials:h=16:s=33,0,200:splits=3:page=64 v1:k=mla_decode:h=64:s=130:splits=2)

# The path of a measurement; its numbers mean nothing on an emulator.
add_test(NAME Bench.KernelsAreMeasuredOnTheEmulator
  COMMAND attest_cli bench kernels --lengths 128 --batches 1,2)

# Graphs replayed, launches disturbed, workgroups held back: the healthy kernels keep their bits.
add_test(NAME Stress.TheHealthyKernelsKeepTheirBitsInReplays COMMAND attest_cli stress replay --replays 12)
add_test(NAME Stress.TheHealthyKernelsKeepTheirBitsWhenDisturbed COMMAND attest_cli stress repeat --launches 12)
add_test(NAME Stress.TheHealthyKernelsKeepTheirBitsWhenHeldBack COMMAND attest_cli stress order)

# The script of the device run, where no GPU is: what it does, and that it does not call a failure a success.
set(attest_device_run bash ${PROJECT_SOURCE_DIR}/harness/h200/run.sh --quick)
add_test(NAME DeviceRun.APartRunsOnTheEmulator
  COMMAND ${attest_device_run} --device emu:gfx942 fuzz ${PROJECT_BINARY_DIR}/device_run)
add_test(NAME DeviceRun.AStepThatFailsFailsThePart
  COMMAND ${attest_device_run} --device cuda:77 fuzz ${PROJECT_BINARY_DIR}/device_run_fails)
set_tests_properties(DeviceRun.AStepThatFailsFailsThePart PROPERTIES PASS_REGULAR_EXPRESSION "fuzz +4 ")
set_tests_properties(DeviceRun.APartRunsOnTheEmulator DeviceRun.AStepThatFailsFailsThePart PROPERTIES
  ENVIRONMENT "ATTEST_PROGRAM=$<TARGET_FILE:attest_cli>")

add_test(NAME DeviceRun.WhatASanitizerSaysCounts COMMAND bash ${PROJECT_SOURCE_DIR}/harness/h200/run_test.sh)

# Inputs out, a kernel in Python, its outputs judged: as golden/judge_example.py shows it. Skipped without h5py.
add_test(NAME Exchange.ThePythonExampleIsJudgedRight
  COMMAND bash ${PROJECT_SOURCE_DIR}/harness/exchange_example_test.sh $<TARGET_FILE:attest_cli>
    ${PROJECT_SOURCE_DIR}/golden/judge_example.py)
set_tests_properties(Exchange.ThePythonExampleIsJudgedRight PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

# What golden/README.md says of golden files, by others than us. Skipped without h5py and h5dump.
add_test(NAME Golden.FilesAreReadByH5pyAndH5dump
  COMMAND bash ${PROJECT_SOURCE_DIR}/harness/golden_read_test.sh $<TARGET_FILE:attest_cli> ${PROJECT_SOURCE_DIR}/golden)
set_tests_properties(Golden.FilesAreReadByH5pyAndH5dump PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 300)

# Twelve mutants of as many classes, a cheat and a benign one among them: each is fuzzed until it fails, and its kept
# token fails again. All of them: `attest selftest`.
set(attest_mutants_of_ci
  benign_groups_merged_backwards cheat_previous_answer diagonal_off_by_one drop_last_token
  extent_read_before_it_is_posted lse_in_base_2 masked_row_of_nans merge_planned_at_the_first_call query_rows_packed
  row_past_the_table splits_of_the_visible_part weights_of_the_merge_in_bf16)
set(attest_selftest selftest --seconds 600 --cases 30 --benign-cases 60)
foreach(mutant ${attest_mutants_of_ci})
  list(APPEND attest_selftest --mutant ${mutant})
endforeach()
add_test(NAME Selftest.AFewMutantsAreKilledAndABenignOneIsNot COMMAND attest_cli ${attest_selftest})
add_test(NAME Selftest.TheirKeptTokensFailAgain COMMAND attest_cli ${attest_selftest} --replay)
set_tests_properties(Selftest.AFewMutantsAreKilledAndABenignOneIsNot Selftest.TheirKeptTokensFailAgain
  PROPERTIES LABELS mutants TIMEOUT 900 RUN_SERIAL TRUE)

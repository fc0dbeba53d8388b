# How the program builds mutants (harness/mutant_build.cpp): with the compilers and flags of this build. A launcher is loaded
# into the program, so that it must agree with it on every flag that changes a layout; its speed does not matter.
add_library(attest_mutant_entry OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/mutant_entry.cpp)
target_link_libraries(attest_mutant_entry PRIVATE attest_options)
set_target_properties(attest_mutant_entry attest_core attest_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)

set(attest_device_compiler ${attest_hip_clang} ${attest_amd_flags} -O3)
# Without -lineinfo: an edit of what this build leaves out shows in no byte. Where no nvcc is, one may be where it runs.
set(attest_cuda_compiler ${attest_nvcc} ${attest_nvidia_flags} -O3 -std=c++17)
if(NOT attest_nvcc)
  list(PREPEND attest_cuda_compiler nvcc)
endif()
separate_arguments(attest_cxx_flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS}")
get_target_property(attest_option_flags attest_options INTERFACE_COMPILE_OPTIONS)
set(attest_launcher_compiler ${CMAKE_CXX_COMPILER} ${attest_cxx_flags} -std=c++20 ${attest_option_flags} -fPIC -O1)
set(attest_launcher_parts $<TARGET_OBJECTS:attest_mutant_entry> $<TARGET_FILE:attest_kernels> $<TARGET_FILE:attest_core>
  $<TARGET_LINKER_FILE:fmt::fmt>)
foreach(name device cuda launcher)
  list(GET attest_${name}_compiler 0 program)
  execute_process(COMMAND ${program} --version OUTPUT_VARIABLE text ERROR_QUIET)
  string(REGEX MATCH "[^\n]*(clang version|release )[^\n]*" attest_${name}_version "${text}")
  if(NOT attest_${name}_version AND text)  # no text: the compiler is not here
    string(REGEX MATCH "^[^\n]*" attest_${name}_version "${text}")
  endif()
endforeach()
list(JOIN attest_cuda_compiler "\", \"" attest_cuda_compiler)  # its flags hold commas, which a generator expression cannot
foreach(command attest_device_compiler attest_launcher_compiler attest_launcher_parts)
  set(${command} "$<JOIN:${${command}},\"$<COMMA> \">")  # words of a C++ initialiser
endforeach()
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/mutant_commands.hpp.in attest_text)
string(CONFIGURE "${attest_text}" attest_text @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/mutant_commands.hpp CONTENT "${attest_text}")
target_include_directories(attest_commands PRIVATE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(attest_commands PUBLIC ${CMAKE_DL_LIBS})
add_dependencies(attest_commands attest_mutant_entry)

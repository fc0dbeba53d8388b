# How the program builds mutants (harness/mutant_build.cpp): with the compilers and flags of this build. A launcher is loaded
# into the program, so that it must agree with it on every flag that changes a layout; its speed does not matter.
add_library(attest_mutant_entry OBJECT ${CMAKE_CURRENT_SOURCE_DIR}/mutant_entry.cpp)
target_link_libraries(attest_mutant_entry PRIVATE attest_options)
set_target_properties(attest_mutant_entry attest_core attest_kernels PROPERTIES POSITION_INDEPENDENT_CODE ON)

set(attest_device_compiler ${attest_hip_clang} ${attest_amd_flags} -O3)
separate_arguments(attest_cxx_flags NATIVE_COMMAND "${CMAKE_CXX_FLAGS}")
get_target_property(attest_option_flags attest_options INTERFACE_COMPILE_OPTIONS)
set(attest_launcher_compiler ${CMAKE_CXX_COMPILER} ${attest_cxx_flags} -std=c++20 ${attest_option_flags} -fPIC -O1)
set(attest_launcher_parts $<TARGET_OBJECTS:attest_mutant_entry> $<TARGET_FILE:attest_kernels> $<TARGET_FILE:attest_core>
  $<TARGET_LINKER_FILE:fmt::fmt>)
foreach(command attest_device_compiler attest_launcher_compiler attest_launcher_parts)
  set(${command} "$<JOIN:${${command}},\"$<COMMA> \">")  # words of a C++ initialiser
endforeach()
file(READ ${CMAKE_CURRENT_SOURCE_DIR}/mutant_commands.hpp.in attest_text)
string(CONFIGURE "${attest_text}" attest_text @ONLY)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/mutant_commands.hpp CONTENT "${attest_text}")
target_include_directories(attest_commands PRIVATE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(attest_commands PUBLIC ${CMAKE_DL_LIBS})
add_dependencies(attest_commands attest_mutant_entry)

# Flags live on one interface target; every library and test of the project links it.
add_library(attest_options INTERFACE)
target_include_directories(attest_options INTERFACE ${PROJECT_SOURCE_DIR})
# -Wno-deprecated-declarations: libstdc++ 12's own stable_sort calls what it deprecates, and clang 19 blames the caller.
# -Wno-psabi: vectors of 64 bytes cross our own functions alone; where the host has no AVX-512 clang warns of their ABI.
# -ffp-contract=off: a contraction would change what the judge, the reference and the emulator compute.
target_compile_options(attest_options INTERFACE -Wall -Wextra -ffp-contract=off -fno-math-errno
  -march=${ATTEST_MARCH} -Wno-deprecated-declarations -Wno-psabi $<$<BOOL:${ATTEST_WERROR}>:-Werror>)
if(ATTEST_SANITIZE)
  target_compile_options(attest_options INTERFACE -fsanitize=${ATTEST_SANITIZE} -fno-omit-frame-pointer
    -fno-sanitize-recover=all)  # undefined behaviour fails a test, as a bad access does
  target_link_options(attest_options INTERFACE -fsanitize=${ATTEST_SANITIZE})
endif()

# attest_library(name SOURCES a.cpp ... [LINK lib ...])
function(attest_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC attest_options fmt::fmt Threads::Threads ${arg_LINK})
endfunction()

# attest_test(name SOURCES a_test.cpp ... [LINK lib ...] [LABELS l ...]): a GoogleTest program, a ctest entry per test.
function(attest_test name)
  if(NOT ATTEST_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE attest_options fmt::fmt GTest::gtest_main ${arg_LINK})
  target_compile_definitions(${name} PRIVATE ATTEST_SOURCE_DIR="${attest_home}"
    ATTEST_CODE_OBJECT_DIR="${attest_home_objects}")
  set(properties TIMEOUT 600)
  if(arg_LABELS)
    list(APPEND properties LABELS "${arg_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES ${properties})
endfunction()

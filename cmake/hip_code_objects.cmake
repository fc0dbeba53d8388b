# Device code: attest_code_object(name source.hip) builds one code object a target into ATTEST_CODE_OBJECT_DIR:
#   name.gfx942.co, name.gfx90a.co   always, by clang 19 (or the installed ROCm's clang: ATTEST_HIP_COMPILER=rocm)
#   name.sm_90.cubin                 where nvcc works (ATTEST_CUDA=AUTO), or always (ON)
# Our kernels need neither HIP's headers nor ROCm's device libraries (kernels/device/gpu.hpp): -nogpuinc, -nogpulib.
set(ATTEST_CODE_OBJECT_DIR ${PROJECT_BINARY_DIR}/code_objects)
# Where the program looks: for its tree, for code objects, for built mutants.
if(ATTEST_MOVABLE)
  set(attest_home .)
  set(attest_home_objects code_objects)
  set(attest_home_mutants mutants)
else()
  set(attest_home ${PROJECT_SOURCE_DIR})
  set(attest_home_objects ${ATTEST_CODE_OBJECT_DIR})
  set(attest_home_mutants ${PROJECT_BINARY_DIR}/mutants)
endif()
set(ATTEST_AMD_TARGETS gfx942 gfx90a)
set(ATTEST_NVIDIA_TARGET sm_90)
# With the instructions that are Hopper's alone (wgmma).
set(attest_nvidia_flags -x cu -gencode arch=compute_90a,code=sm_90a -cubin)

set(ATTEST_HIP_COMPILER clang CACHE STRING "Compiler of the AMD code objects: clang (19), or rocm (the installed one)")
set_property(CACHE ATTEST_HIP_COMPILER PROPERTY STRINGS clang rocm)
set(ATTEST_CUDA AUTO CACHE STRING "sm_90 builds of the kernels by nvcc: AUTO (where nvcc works), ON, OFF")
set_property(CACHE ATTEST_CUDA PROPERTY STRINGS AUTO ON OFF)

if(ATTEST_HIP_COMPILER STREQUAL "rocm")
  find_program(ATTEST_HIP_ROCM_CLANG NAMES clang++ amdclang++ NO_DEFAULT_PATH
    PATHS $ENV{ROCM_PATH}/llvm/bin $ENV{ROCM_PATH}/lib/llvm/bin /opt/rocm/llvm/bin /opt/rocm/lib/llvm/bin)
  set(attest_hip_clang ${ATTEST_HIP_ROCM_CLANG})
  set(attest_hip_wanted "ROCm's clang++ (looked in $ROCM_PATH and /opt/rocm; AMD's package rocm-llvm)")
elseif(ATTEST_HIP_COMPILER STREQUAL "clang")
  find_program(ATTEST_HIP_CLANG NAMES clang++-19)
  set(attest_hip_clang ${ATTEST_HIP_CLANG})
  set(attest_hip_wanted "clang++-19 (Debian and Ubuntu package clang-19)")
else()
  message(FATAL_ERROR "ATTEST_HIP_COMPILER=${ATTEST_HIP_COMPILER} is neither clang nor rocm")
endif()
if(NOT attest_hip_clang)
  message(FATAL_ERROR "The kernels' compiler is missing: ${attest_hip_wanted}")
endif()

# A code object is linked: clang looks for ld.lld beside itself, then in PATH.
execute_process(COMMAND ${attest_hip_clang} -print-prog-name=ld.lld OUTPUT_VARIABLE attest_hip_lld
  OUTPUT_STRIP_TRAILING_WHITESPACE)
find_program(ATTEST_HIP_LLD NAMES ${attest_hip_lld})
if(NOT ATTEST_HIP_LLD)
  message(FATAL_ERROR "${attest_hip_clang} finds no ld.lld to link code objects (Debian and Ubuntu package lld-19)")
endif()

# Sets attest_nvcc to a compiler that works, or to nothing.
function(attest_find_nvcc)
  find_program(ATTEST_NVCC NAMES nvcc PATHS /usr/local/cuda/bin $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin)
  set(why "nvcc is in neither PATH nor /usr/local/cuda/bin (NVIDIA's CUDA toolkit, or Debian's nvidia-cuda-toolkit)")
  if(ATTEST_NVCC)
    set(probe ${PROJECT_BINARY_DIR}/CMakeFiles/attest_nvcc_probe.cu)
    file(WRITE ${probe} "extern \"C\" __global__ void probe(int* p) { *p = 1; }\n")
    execute_process(COMMAND ${ATTEST_NVCC} ${attest_nvidia_flags} -std=c++17 -o ${probe}.cubin ${probe}
      RESULT_VARIABLE status OUTPUT_VARIABLE why ERROR_VARIABLE why)
    if(status EQUAL 0)
      set(attest_nvcc ${ATTEST_NVCC} PARENT_SCOPE)
      return()
    endif()
    set(why "${ATTEST_NVCC} builds nothing for ${ATTEST_NVIDIA_TARGET}:\n${why}")
  endif()
  if(ATTEST_CUDA STREQUAL "AUTO")
    message(STATUS "No ${ATTEST_NVIDIA_TARGET} code objects: ${why}")
  else()
    message(FATAL_ERROR "ATTEST_CUDA=${ATTEST_CUDA}, but ${why}")
  endif()
endfunction()

set(attest_nvcc "")
if(ATTEST_CUDA)  # AUTO or ON
  attest_find_nvcc()
endif()

# Flags of every build for an AMD target, its --offload-arch apart: our kernels, the tests' and the mutants.
set(attest_amd_flags -x hip --cuda-device-only --no-gpu-bundle-output -nogpuinc -nogpulib -gline-tables-only
  -std=c++17 -Wall -Wextra)

# One code object: a command whose depfile says which headers it read.
function(attest_code_object_for output source)
  cmake_parse_arguments(arg "" "" "COMMAND" ${ARGN})
  cmake_path(GET output FILENAME file)
  add_custom_command(OUTPUT ${output} DEPENDS ${source} DEPFILE ${output}.d VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory ${ATTEST_CODE_OBJECT_DIR}
    COMMAND ${arg_COMMAND} -O3 -std=c++17 -I${PROJECT_SOURCE_DIR} -MD -MT ${output} -MF ${output}.d -o ${output} ${source}
    COMMENT "Code object ${file}")
endfunction()

# Target name_code_objects, a part of ALL. EXACT: no contraction of products and sums; each operation rounds once.
function(attest_code_object name source)
  cmake_parse_arguments(arg "EXACT" "" "" ${ARGN})
  set(exact_amd "")
  set(exact_nvidia "")
  if(arg_EXACT)
    set(exact_amd -ffp-contract=off)
    set(exact_nvidia --fmad=false)
  endif()
  cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE source)
  set(outputs "")
  foreach(target ${ATTEST_AMD_TARGETS})
    set(output ${ATTEST_CODE_OBJECT_DIR}/${name}.${target}.co)
    # Nothing in it tells where the tree lies: equal sources are equal builds, by which runs know each other.
    attest_code_object_for(${output} ${source} COMMAND ${attest_hip_clang} ${attest_amd_flags} --offload-arch=${target}
      -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -fuse-cuid=none ${exact_amd})
    list(APPEND outputs ${output})
  endforeach()
  if(attest_nvcc)
    set(output ${ATTEST_CODE_OBJECT_DIR}/${name}.${ATTEST_NVIDIA_TARGET}.cubin)
    attest_code_object_for(${output} ${source}
      COMMAND ${attest_nvcc} ${attest_nvidia_flags} -lineinfo ${exact_nvidia})
    list(APPEND outputs ${output})
  endif()
  add_custom_target(${name}_code_objects ALL DEPENDS ${outputs})
endfunction()

# The CUDA toolkit, for the module that stallscope loads on demand. Nothing else links it, and a
# machine without builds all but that module.
#
#   STALLSCOPE_CUDA   AUTO  the module is built where a toolkit 12 or 13 is found
#                     ON    and it is an error where none is
#                     OFF   it is not

set(STALLSCOPE_CUDA AUTO CACHE STRING "Build the module for CUDA devices: AUTO, ON or OFF")
set_property(CACHE STALLSCOPE_CUDA PROPERTY STRINGS AUTO ON OFF)

set(STALLSCOPE_CUDA_FOUND OFF)
if(STALLSCOPE_CUDA)
  find_package(CUDAToolkit QUIET)
  set(missing "")
  if(NOT CUDAToolkit_FOUND)
    set(missing "there is no CUDA toolkit; name one with -DCUDAToolkit_ROOT=")
  elseif(CUDAToolkit_VERSION VERSION_LESS 12 OR CUDAToolkit_VERSION VERSION_GREATER_EQUAL 14)
    set(missing "the CUDA toolkit is ${CUDAToolkit_VERSION}, and 12 or 13 is needed")
  elseif(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(missing "the CUDA toolkit has no nvcc")
  endif()
  if(NOT missing)
    find_path(STALLSCOPE_CUDA_INCLUDE cublasLt.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH)
    find_library(STALLSCOPE_CUDART cudart_static PATHS ${CUDAToolkit_LIBRARY_DIR} NO_DEFAULT_PATH)
    if(NOT STALLSCOPE_CUDA_INCLUDE OR NOT STALLSCOPE_CUDART)
      set(missing "the CUDA toolkit lacks cublasLt.h or libcudart_static.a")
    endif()
  endif()
  if(NOT missing)
    set(STALLSCOPE_CUDA_FOUND ON)
    # Optional: without it the runtime's events stand in.
    find_path(STALLSCOPE_CUPTI_INCLUDE cupti.h NO_DEFAULT_PATH
      PATHS ${CUDAToolkit_INCLUDE_DIRS} "${CUDAToolkit_LIBRARY_ROOT}/extras/CUPTI/include"
            "${CUDAToolkit_TARGET_DIR}/extras/CUPTI/include")
    if(NOT STALLSCOPE_CUPTI_INCLUDE)
      set(STALLSCOPE_CUPTI_INCLUDE "")
      message(STATUS "CUDA: this toolkit has no CUPTI; the runtime's events stand in for it")
    endif()
    message(STATUS "CUDA: the module is built with toolkit ${CUDAToolkit_VERSION}")
  elseif(STALLSCOPE_CUDA STREQUAL "AUTO")
    message(STATUS "CUDA: the module is not built: ${missing}")
  else()
    message(FATAL_ERROR "STALLSCOPE_CUDA is ON, but ${missing}")
  endif()
endif()

# stallscope_cuda_kernels(<variable> <file.cu>): its object, for sm_80, sm_90, and PTX for newer
# devices. A command of its own instead of the language CUDA: CMake tries that out for half a minute,
# and would pass it the flags of our warnings and sanitizers, which nvcc does not know.
function(stallscope_cuda_kernels OUT SOURCE)
  set(object "${CMAKE_CURRENT_BINARY_DIR}/${SOURCE}.o")
  set(source "${CMAKE_CURRENT_SOURCE_DIR}/${SOURCE}")
  set(host "")
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(host -ccbin "${CMAKE_CXX_COMPILER}")
  endif()
  add_custom_command(OUTPUT "${object}"
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${CUDAToolkit_NVCC_EXECUTABLE}" ${host} -std=c++20 -O3
            --expt-relaxed-constexpr -gencode arch=compute_80,code=sm_80
            -gencode arch=compute_90,code=[sm_90,compute_90]
            -Xcompiler -fPIC,-fvisibility=hidden "-I${PROJECT_SOURCE_DIR}"
            -MD -MF "${object}.d" -c "${source}" -o "${object}"
    MAIN_DEPENDENCY "${source}" DEPFILE "${object}.d"
    COMMENT "Compiling ${SOURCE} for the GPU" VERBATIM)
  set(${OUT} "${object}" PARENT_SCOPE)
endfunction()

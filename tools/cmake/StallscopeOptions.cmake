# How everything is compiled: standard, warnings, sanitizers, where programs land.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

option(STALLSCOPE_TESTS "Build the tests" ON)
option(STALLSCOPE_BENCH "Build the benchmarks where Google Benchmark is installed" ON)
option(STALLSCOPE_WERROR "Treat warnings as errors" ON)
option(STALLSCOPE_FUZZ "Build the fuzz targets with libFuzzer (clang only)" OFF)
set(STALLSCOPE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

find_program(STALLSCOPE_CCACHE ccache)
if(STALLSCOPE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${STALLSCOPE_CCACHE}")
endif()

# Every target of ours links this one; generated code and parts do not.
add_library(stallscope_options INTERFACE)
target_include_directories(stallscope_options INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>")
target_compile_options(stallscope_options INTERFACE
  $<BUILD_INTERFACE:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
  -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align -Wnull-dereference -Wimplicit-fallthrough>)
if(STALLSCOPE_WERROR)
  target_compile_options(stallscope_options INTERFACE $<BUILD_INTERFACE:-Werror>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # gcc 12 reports these falsely through inlined std::string and std::vector code; and it misses
  # fields in designated initializers that have a default.
  target_compile_options(stallscope_options INTERFACE
    $<BUILD_INTERFACE:-Wno-missing-field-initializers -Wno-null-dereference -Wno-restrict
    -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized>)
  # In a unity build gcc takes every file for a header, because another includes it.
  if(CMAKE_UNITY_BUILD)
    target_compile_options(stallscope_options INTERFACE $<BUILD_INTERFACE:-Wno-subobject-linkage>)
  endif()
endif()

if(STALLSCOPE_SANITIZE)
  add_compile_options(-fsanitize=${STALLSCOPE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${STALLSCOPE_SANITIZE})
endif()
if(STALLSCOPE_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "STALLSCOPE_FUZZ needs clang: it brings libFuzzer. Use the preset fuzz.")
  endif()
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Tests: every doctest case is a ctest test of its own. Its test suite (fast, slow, measure) is its
# label; a case outside those three suites stops the build.

find_package(doctest 2.4.9 REQUIRED)

# stallscope_test(NAME <mirrored folder> SOURCES <files> LINKS <rooms> [PARTS <parts>])
function(stallscope_test)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;LINKS;PARTS" ${ARGN})
  string(REPLACE "/" "_" target "test_${arg_NAME}")
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE stallscope_options stallscope_test_support)
  # What is tested is optimised; the tests themselves need not be, and compile in half the time.
  target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-O0>)
  foreach(link IN LISTS arg_LINKS)
    stallscope_room_target("${link}" linked)
    target_link_libraries(${target} PRIVATE ${linked})
  endforeach()
  foreach(part IN LISTS arg_PARTS)
    target_link_libraries(${target} PRIVATE ${STALLSCOPE_PART_${part}})
  endforeach()
  set_target_properties(${target} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}_tests.cmake")
  add_custom_command(TARGET ${target} POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -D "EXECUTABLE=$<TARGET_FILE:${target}>" -D "PREFIX=${arg_NAME}"
            -D "OUT=${list}" -D "ROOT=${PROJECT_SOURCE_DIR}"
            -P "${PROJECT_SOURCE_DIR}/tools/cmake/ListDoctestCases.cmake"
    BYPRODUCTS "${list}" VERBATIM)
  set(include_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_include.cmake")
  file(WRITE "${include_file}"
    "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n"
    "  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include_file}")
endfunction()

# stallscope_script_test(NAME <mirrored folder> SCRIPT <file> [ARGS ...] [TIMEOUT <seconds>]
# [LABEL <label>]): a test, `fast` unless said otherwise, that is a program of its own; it skips with
# exit code 77. It finds the checkout in
# $STALLSCOPE_SOURCE and the build folder in $STALLSCOPE_BUILD, and starts in the former.
function(stallscope_script_test)
  cmake_parse_arguments(arg "" "NAME;SCRIPT;TIMEOUT;LABEL" "ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(NOT arg_LABEL)
    set(arg_LABEL fast)
  endif()
  get_filename_component(case "${arg_SCRIPT}" NAME_WE)
  set(name "${arg_NAME}: ${case}")
  add_test(NAME "${name}" COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT}" ${arg_ARGS}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties("${name}" PROPERTIES LABELS "${arg_LABEL}" TIMEOUT "${arg_TIMEOUT}"
    SKIP_RETURN_CODE 77
    ENVIRONMENT "STALLSCOPE_SOURCE=${PROJECT_SOURCE_DIR};STALLSCOPE_BUILD=${PROJECT_BINARY_DIR};XDG_STATE_HOME=${PROJECT_BINARY_DIR}/tests/state")
endfunction()

# The house: every room, and what it may link directly. Links run downwards only; a link that is
# not in this table stops the configure step. The architecture is a test.
#
#   room | rooms it may link (analyzer/base always) | parts it may link (threads and fmt always)
#
# `analyzer/trace` and `collectors/data` both take CRC32C from isa-l, because `analyzer/base` is
# std only: a checksum of our own there would be slower than the part that both can have.
# `collectors/job` links `analyzer/spec`, because `run --set` takes the settings that a job's spec has:
# one table of knobs, ranges and names for it and for the replays that start it.
set(STALLSCOPE_ROOM_TABLE
  "analyzer/base||"
  "analyzer/trace||protobuf isal"
  "analyzer/spec||protobuf json"
  "analyzer/plan|analyzer/spec|json"
  "analyzer/words||"
  "analyzer/usage|analyzer/spec analyzer/words|cli11"
  "analyzer/model|analyzer/trace analyzer/spec|json"
  "analyzer/importers/foreign|analyzer/model|isal"
  "analyzer/importers/xplane|analyzer/importers/foreign|"
  "analyzer/importers/nsys|analyzer/importers/foreign|sqlite"
  "analyzer/importers/chrome|analyzer/importers/foreign analyzer/model|simdjson xxhash"
  "analyzer/importers|analyzer/importers/foreign analyzer/importers/chrome analyzer/importers/xplane analyzer/importers/nsys analyzer/model|"
  "analyzer/timeline|analyzer/model|"
  "analyzer/attribution|analyzer/model analyzer/spec|"
  "analyzer/findings|analyzer/attribution analyzer/spec analyzer/words|"
  "analyzer/compare|analyzer/attribution analyzer/spec analyzer/words|"
  "analyzer/report|analyzer/findings analyzer/compare analyzer/timeline analyzer/words|json"
  "analyzer/report/html|analyzer/report|"
  "analyzer/budget|analyzer/report|json"
  "analyzer/export|analyzer/attribution|"
  "analyzer/cli|analyzer/trace analyzer/spec analyzer/model analyzer/importers analyzer/export analyzer/report analyzer/report/html analyzer/budget analyzer/usage analyzer/words collectors/recorder collectors/system collectors/data collectors/device collectors/capture collectors/job replay/workbench|cli11 json"
  "collectors/data||protobuf jpeg png yuv isal zlib hdf5 xxhash json"
  "collectors/recorder|analyzer/trace|"
  "collectors/system|collectors/recorder|dl sodium"
  "collectors/job|collectors/recorder collectors/system analyzer/spec|json"
  "collectors/pipeline|collectors/recorder collectors/data analyzer/plan analyzer/spec|xxhash"
  "collectors/device|collectors/recorder|blas dl"
  "collectors/device/cuda|collectors/device|dl cudart"
  "collectors/trainer|collectors/pipeline collectors/device|"
  "collectors/capture|collectors/trainer collectors/system|"
  "replay/workload|analyzer/attribution analyzer/plan analyzer/spec|"
  "replay/simulate|replay/workload|"
  "replay/whatif|replay/simulate analyzer/report|json"
  "replay/rerun|replay/workload collectors/capture|"
  "replay/sweep|replay/whatif replay/rerun analyzer/report|json xxhash"
  "replay/workbench|replay/sweep analyzer/importers|"
  "gui/session|replay/workbench analyzer/export analyzer/report/html|json"
  "gui/viewmodel|gui/session analyzer/timeline analyzer/words|"
  "gui/raster||imgui png"
  "gui/views|gui/viewmodel analyzer/words|imgui"
  "gui/app|gui/views gui/raster analyzer/usage|glfw imgui cli11"
)

set(STALLSCOPE_PARTS_EVERYWHERE threads fmt)

function(_stallscope_room_row ROOM OUT_ROOMS OUT_PARTS)
  foreach(row IN LISTS STALLSCOPE_ROOM_TABLE)
    string(REPLACE "|" ";" cells "${row}")
    list(GET cells 0 name)
    if(name STREQUAL ROOM)
      list(GET cells 1 rooms)
      list(GET cells 2 parts)
      separate_arguments(rooms)
      separate_arguments(parts)
      set(${OUT_ROOMS} "${rooms}" PARENT_SCOPE)
      set(${OUT_PARTS} "${parts}" PARENT_SCOPE)
      return()
    endif()
  endforeach()
  message(FATAL_ERROR "The room '${ROOM}' is not in the table of tools/cmake/StallscopeRooms.cmake. "
                      "Add a row for it there, and say in the commit why the house needs it.")
endfunction()

# analyzer/trace -> stallscope_trace, analyzer/importers/nsys -> stallscope_importers_nsys
function(stallscope_room_target ROOM OUT)
  # Not a replacement of "^[^/]+/": CMake matches that again behind what it has replaced.
  string(REGEX MATCH "^[^/]+/(.*)$" short "${ROOM}")
  set(short "${CMAKE_MATCH_1}")
  string(REPLACE "/" "_" short "${short}")
  set(${OUT} "stallscope_${short}" PARENT_SCOPE)
endfunction()

function(_stallscope_resolve_links ROOM SCOPE)
  _stallscope_room_row("${ROOM}" allowed_rooms allowed_parts)
  list(APPEND allowed_rooms analyzer/base)
  list(APPEND allowed_parts ${STALLSCOPE_PARTS_EVERYWHERE})
  stallscope_room_target("${ROOM}" target)
  foreach(link IN LISTS ARGN)
    if(link MATCHES "/")
      if(NOT link IN_LIST allowed_rooms)
        message(FATAL_ERROR "${ROOM} must not link ${link}: the table of rooms in "
                            "tools/cmake/StallscopeRooms.cmake has no such edge.")
      endif()
      stallscope_room_target("${link}" linked)
    else()
      if(NOT link IN_LIST allowed_parts)
        message(FATAL_ERROR "${ROOM} must not link the part '${link}': the table of rooms in "
                            "tools/cmake/StallscopeRooms.cmake has no such edge.")
      endif()
      set(linked "${STALLSCOPE_PART_${link}}")
    endif()
    target_link_libraries(${target} ${SCOPE} ${linked})
  endforeach()
endfunction()

# stallscope_library(NAME <room> SOURCES <files> [LINKS <rooms and parts>] [PRIVATE_LINKS <...>])
# LINKS appear in the room's headers, PRIVATE_LINKS in its sources only.
function(stallscope_library)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  stallscope_room_target("${arg_NAME}" target)
  add_library(${target} STATIC ${arg_SOURCES})
  # Under these names a program finds the rooms that are installed (find_package(stallscope)).
  string(REGEX REPLACE "^stallscope_" "" exported "${target}")
  add_library(stallscope::${exported} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME "${exported}")
  target_compile_features(${target} PUBLIC cxx_std_20)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:stallscope_options>)
  target_include_directories(${target} PUBLIC
    "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
    "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/stallscope>")
  if(NOT arg_NAME STREQUAL "analyzer/base")
    target_link_libraries(${target} PUBLIC stallscope_base)
  endif()
  _stallscope_resolve_links("${arg_NAME}" PUBLIC ${arg_LINKS})
  _stallscope_resolve_links("${arg_NAME}" PRIVATE ${arg_PRIVATE_LINKS})
  set_property(GLOBAL APPEND PROPERTY STALLSCOPE_ROOMS_BUILT "${arg_NAME}")
endfunction()

# stallscope_program(NAME <program> ROOM <room> SOURCES <files> LINKS <rooms and parts>)
function(stallscope_program)
  cmake_parse_arguments(arg "" "NAME;ROOM" "SOURCES;LINKS" ${ARGN})
  stallscope_room_target("${arg_ROOM}" target)
  add_executable(${target} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME "${arg_NAME}")
  target_link_libraries(${target} PRIVATE stallscope_options)
  _stallscope_resolve_links("${arg_ROOM}" PRIVATE analyzer/base ${arg_LINKS})
  set_property(GLOBAL APPEND PROPERTY STALLSCOPE_ROOMS_BUILT "${arg_ROOM}")
endfunction()

# stallscope_module(NAME <target> ROOM <room> SOURCES <files> LINKS <the room itself, and parts>)
# A file beside the programs that one of them loads. It takes from the static libraries what it uses
# and shows one symbol.
function(stallscope_module)
  cmake_parse_arguments(arg "" "NAME;ROOM" "SOURCES;LINKS" ${ARGN})
  add_library(${arg_NAME} MODULE ${arg_SOURCES})
  set_target_properties(${arg_NAME} PROPERTIES PREFIX "" LINKER_LANGUAGE CXX
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  target_link_libraries(${arg_NAME} PRIVATE stallscope_options)
  foreach(link IN LISTS arg_LINKS)
    if(link STREQUAL arg_ROOM)
      stallscope_room_target("${link}" linked)
    else()
      _stallscope_room_row("${arg_ROOM}" allowed_rooms allowed_parts)
      if(NOT link IN_LIST allowed_parts AND NOT link IN_LIST STALLSCOPE_PARTS_EVERYWHERE)
        message(FATAL_ERROR "${arg_NAME} must not link '${link}': the table of rooms in "
                            "tools/cmake/StallscopeRooms.cmake has no such edge.")
      endif()
      set(linked "${STALLSCOPE_PART_${link}}")
    endif()
    target_link_libraries(${arg_NAME} PRIVATE ${linked})
  endforeach()
  # Of the libraries that its room's own pull in it needs hardly any.
  target_link_options(${arg_NAME} PRIVATE -Wl,--as-needed -Wl,--exclude-libs,ALL)
endfunction()

# stallscope_proto(<room> <file.proto>): the room's sources include "<room>/<file>.pb.h", nobody
# else can. Generated code is compiled apart, without our warnings.
#   SEEN_BY <sources>: those that include it, where it has a map. Under ThreadSanitizer protobuf's
#   header gives a map a member that the library, compiled without, does not have: such code must
#   not know of the sanitizer.
function(stallscope_proto ROOM PROTO)
  cmake_parse_arguments(arg "" "" "SEEN_BY" ${ARGN})
  stallscope_room_target("${ROOM}" target)
  add_library(${target}_proto OBJECT "${PROTO}")
  protobuf_generate(TARGET ${target}_proto LANGUAGE cpp)
  target_link_libraries(${target}_proto PUBLIC protobuf::libprotobuf)
  target_include_directories(${target}_proto PRIVATE "${CMAKE_CURRENT_BINARY_DIR}")
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_proto>)
  add_dependencies(${target} ${target}_proto)
  target_include_directories(${target} SYSTEM PRIVATE "${PROJECT_BINARY_DIR}")
  if(STALLSCOPE_SANITIZE MATCHES "thread")
    target_compile_options(${target}_proto PRIVATE -U__SANITIZE_THREAD__)
    if(arg_SEEN_BY)
      set_property(SOURCE ${arg_SEEN_BY} APPEND PROPERTY COMPILE_OPTIONS -U__SANITIZE_THREAD__)
    endif()
  endif()
endfunction()

# A row for a room that nobody builds is a lie about the house.
function(stallscope_check_rooms)
  get_property(built GLOBAL PROPERTY STALLSCOPE_ROOMS_BUILT)
  foreach(row IN LISTS STALLSCOPE_ROOM_TABLE)
    string(REGEX REPLACE "\\|.*" "" name "${row}")
    if(NOT name IN_LIST built)
      message(FATAL_ERROR "The table of rooms has '${name}', but no CMakeLists.txt builds it.")
    endif()
  endforeach()
endfunction()

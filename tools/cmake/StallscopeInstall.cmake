# `cmake --install` in three components: `programs` with their Python module, completions, man pages and
# licenses; `desktop` with the menu entry and the samples; and `development`, for programs that record
# themselves: find_package(stallscope) provides stallscope::recorder. Packages contain the first two.

include(CMakePackageConfigHelpers)

# stallscope_install_headers(<room> <headers>): those that may leave the room, and no other.
function(stallscope_install_headers ROOM)
  list(TRANSFORM ARGN PREPEND "${PROJECT_SOURCE_DIR}/${ROOM}/")
  install(FILES ${ARGN} COMPONENT development
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/stallscope/${ROOM}")
endfunction()

stallscope_install_headers(analyzer/base
  clock.h column.h file.h ids.h math.h result.h units.h)
stallscope_install_headers(analyzer/trace
  chunk.h damage.h events.h frame.h limits.h reader.h span_codec.h varint.h writer.h)
stallscope_install_headers(collectors/recorder
  recorder.h ring.h track.h)

install(TARGETS stallscope_base stallscope_trace stallscope_recorder
  EXPORT stallscopeTargets
  ARCHIVE COMPONENT development DESTINATION "${CMAKE_INSTALL_LIBDIR}")
set(config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/stallscope")
install(EXPORT stallscopeTargets NAMESPACE stallscope:: COMPONENT development
  DESTINATION "${config_dir}")
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/stallscopeConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/stallscopeConfig.cmake" INSTALL_DESTINATION "${config_dir}"
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may break what was there.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/stallscopeConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  "${PROJECT_BINARY_DIR}/stallscopeConfig.cmake" "${PROJECT_BINARY_DIR}/stallscopeConfigVersion.cmake"
  COMPONENT development DESTINATION "${config_dir}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" COMPONENT programs
  DESTINATION "${CMAKE_INSTALL_DOCDIR}")

# Compiled-in libraries have their own licenses; those of shared libraries come with the libraries.
foreach(package IN ITEMS libimgui-dev nlohmann-json3-dev libcli11-dev
                         fonts-roboto-unhinted fonts-dejavu-core)
  install(FILES "/usr/share/doc/${package}/copyright" OPTIONAL COMPONENT programs
    DESTINATION "${CMAKE_INSTALL_DOCDIR}/licenses" RENAME "${package}.txt")
endforeach()

# stallscope_install_printed(<program> <file> <folder> <arguments>): what it prints about itself.
function(stallscope_install_printed PROGRAM FILE FOLDER)
  set(out "${PROJECT_BINARY_DIR}/share/${FILE}")
  add_custom_command(OUTPUT "${out}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/share"
    COMMAND ${PROGRAM} ${ARGN} > "${out}"
    DEPENDS ${PROGRAM} VERBATIM)
  add_custom_target(${PROGRAM}_prints_${FILE} ALL DEPENDS "${out}")
  install(FILES "${out}" COMPONENT programs DESTINATION "${CMAKE_INSTALL_DATADIR}/${FOLDER}")
endfunction()

if(TARGET stallscope_cli)
  install(TARGETS stallscope_cli RUNTIME COMPONENT programs
    DESTINATION "${CMAKE_INSTALL_BINDIR}")
  # For programs that import it and are also run without `stallscope run`.
  install(FILES "${PROJECT_SOURCE_DIR}/collectors/job/python/stallscope.py" COMPONENT programs
    DESTINATION "${CMAKE_INSTALL_DATADIR}/stallscope/python")
  stallscope_install_printed(stallscope_cli stallscope bash-completion/completions completion bash)
  stallscope_install_printed(stallscope_cli _stallscope zsh/site-functions completion zsh)
  stallscope_install_printed(stallscope_cli stallscope.fish fish/vendor_completions.d completion fish)
  stallscope_install_printed(stallscope_cli stallscope.1 man/man1 man)
endif()

# Where the program looks for it: beside itself, or here.
if(TARGET stallscope_cuda)
  install(TARGETS stallscope_cuda LIBRARY COMPONENT programs DESTINATION lib/stallscope)
endif()

# The desktop program, its entry in menus, its icon, the type of its files.
if(TARGET stallscope_app)
  install(TARGETS stallscope_app RUNTIME COMPONENT programs
    DESTINATION "${CMAKE_INSTALL_BINDIR}")
  stallscope_install_printed(stallscope_app stallscope-gui.1 man/man1 --man)
  set(desktop "${PROJECT_SOURCE_DIR}/gui/app/desktop")
  install(FILES "${desktop}/stallscope.desktop" COMPONENT desktop
    DESTINATION "${CMAKE_INSTALL_DATADIR}/applications")
  install(FILES "${desktop}/stallscope.svg" COMPONENT desktop
    DESTINATION "${CMAKE_INSTALL_DATADIR}/icons/hicolor/scalable/apps")
  install(FILES "${desktop}/stallscope.xml" COMPONENT desktop
    DESTINATION "${CMAKE_INSTALL_DATADIR}/mime/packages")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/sample_traces/" COMPONENT desktop
    DESTINATION "${CMAKE_INSTALL_DATADIR}/stallscope/samples"
    FILES_MATCHING PATTERN "*.sst" REGEX "/(findings|recorders|specs)\$" EXCLUDE)
endif()

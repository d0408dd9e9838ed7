# CPack runs this on the tree before packing it: it compresses the man pages, and adds the changelog, the
# copyright file, and the module where Debian's Python looks for it.

set(prefix "${CPACK_TEMPORARY_DIRECTORY}/ALL_COMPONENTS_IN_ONE/usr")

# Without name and time, so that equal text gives equal bytes.
function(compress FILE)
  execute_process(COMMAND gzip -9n "${FILE}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

compress("${prefix}/share/man/man1/stallscope.1")
compress("${prefix}/share/man/man1/stallscope-gui.1")

set(documents "${prefix}/share/doc/stallscope")
# Debian uses another file name, and has one copy of the license text for all packages.
file(REMOVE "${documents}/LICENSE")
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # honors SOURCE_DATE_EPOCH
file(WRITE "${documents}/changelog"
"stallscope (${CPACK_PACKAGE_VERSION}) stable; urgency=medium

  * Version ${CPACK_PACKAGE_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
compress("${documents}/changelog")

set(copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: stallscope

Files: *
Copyright: 2026 the stallscope maintainers
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
Comment: The directory licenses beside this file has the copyright notices of
 what is compiled into the programs: Dear ImGui, JSON for Modern C++, CLI11,
 and the fonts Roboto and DejaVu.
")
file(WRITE "${documents}/copyright" "${copyright}")

file(MAKE_DIRECTORY "${prefix}/lib/python3/dist-packages")
file(CREATE_LINK ../../../share/stallscope/python/stallscope.py
     "${prefix}/lib/python3/dist-packages/stallscope.py" SYMBOLIC)

# zsh's place on Debian.
if(EXISTS "${prefix}/share/zsh/site-functions")
  file(RENAME "${prefix}/share/zsh/site-functions" "${prefix}/share/zsh/vendor-completions")
endif()

# Writes OUT: one add_test a doctest case of EXECUTABLE, labelled with the case's suite.
# doctest's own discovery starts the program once more for every case; this asks once.

execute_process(
  COMMAND "${EXECUTABLE}" --list-test-cases --reporters=xml
  OUTPUT_VARIABLE xml RESULT_VARIABLE result ERROR_VARIABLE errors)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${EXECUTABLE} could not list its cases (${result}): ${errors}")
endif()

# Lists split at semicolons, also those of XML's own &quot;, and brackets confuse them: while matching,
# characters that no XML may hold stand in their place.
string(ASCII 1 semicolon)
string(ASCII 2 opening)
string(ASCII 3 closing)
string(REPLACE ";" "${semicolon}" xml "${xml}")
string(REPLACE "[" "${opening}" xml "${xml}")
string(REPLACE "]" "${closing}" xml "${xml}")
string(REGEX MATCHALL "<TestCase [^>]*>" cases "${xml}")
set(script "")
foreach(case IN LISTS cases)
  string(REGEX MATCH " name=\"([^\"]*)\"" _ "${case}")
  set(name "${CMAKE_MATCH_1}")
  string(REGEX MATCH " testsuite=\"([^\"]*)\"" found "${case}")
  set(suite "${CMAKE_MATCH_1}")
  if(NOT found OR NOT suite MATCHES "^(fast|slow|measure)$")
    message(FATAL_ERROR "The case '${name}' of ${EXECUTABLE} is in the suite '${suite}': "
                        "put it into TEST_SUITE(\"fast\"), \"slow\" or \"measure\".")
  endif()
  string(REPLACE "${semicolon}" ";" name "${name}")
  string(REPLACE "${opening}" "[" name "${name}")
  string(REPLACE "${closing}" "]" name "${name}")
  string(REPLACE "&quot;" "\"" name "${name}")
  string(REPLACE "&apos;" "'" name "${name}")
  string(REPLACE "&lt;" "<" name "${name}")
  string(REPLACE "&gt;" ">" name "${name}")
  string(REPLACE "&amp;" "&" name "${name}")
  string(REPLACE "," "\\," filter "${name}")
  if(suite STREQUAL "fast")
    set(timeout 600)
  else()
    set(timeout 3600)
  endif()
  set(serial FALSE)
  if(suite STREQUAL "measure")
    set(serial TRUE)  # a neighbour on the same cores would be measured too
  endif()
  string(APPEND script
    "add_test([==[${PREFIX}: ${name}]==] [==[${EXECUTABLE}]==] [==[--test-case=${filter}]==])\n"
    "set_tests_properties([==[${PREFIX}: ${name}]==] PROPERTIES LABELS ${suite} "
    "TIMEOUT ${timeout} RUN_SERIAL ${serial} SKIP_RETURN_CODE 77 WORKING_DIRECTORY [==[${ROOT}]==])\n")
endforeach()
file(WRITE "${OUT}" "${script}")

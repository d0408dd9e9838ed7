#!/usr/bin/env bash
# Whatever characters a test case has in its name, ctest knows it by that name and asks for it alone.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cat > "$folder/cases" <<'END'
#!/bin/sh
cat <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<doctest binary="cases">
  <TestCase name="one; two;;three" testsuite="fast" filename="a.cpp" line="1"/>
  <TestCase name="a [b] of &quot;c&quot; &lt;d&gt; &amp;amp;" testsuite="slow" filename="a.cpp" line="2"/>
  <TestCase name="first, last]" testsuite="measure" filename="a.cpp" line="3"/>
</doctest>
XML
END
chmod +x "$folder/cases"
cmake -D EXECUTABLE="$folder/cases" -D PREFIX=room -D OUT="$folder/CTestTestfile.cmake" \
  -D ROOT="$folder" -P "$STALLSCOPE_SOURCE/tools/cmake/ListDoctestCases.cmake"

ctest --test-dir "$folder" -N | sed -n 's/^ *Test *#[0-9]*: //p' > "$folder/names"
cat > "$folder/expected" <<'END'
room: one; two;;three
room: a [b] of "c" <d> &amp;
room: first, last]
END
diff "$folder/expected" "$folder/names"

grep -Fq -e '[==[--test-case=one; two;;three]==]' "$folder/CTestTestfile.cmake"
grep -Fq -e '[==[--test-case=first\, last]]==]' "$folder/CTestTestfile.cmake"

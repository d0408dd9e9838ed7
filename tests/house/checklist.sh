#!/usr/bin/env bash
# Checks that every test in the checklist exists, that every reference in its table is in its list, and
# that the page has the right number of cells with a test.
set -euo pipefail

page=analyzer/findings/CHECKLIST.md
failed=0
complain() {
  echo "$page: $*" >&2
  failed=1
}

names=$(grep -rhoE --include='*.cpp' 'TEST_CASE\("([^"\\]|\\.)*"' tests | sed 's/^TEST_CASE("//; s/"$//')
declare -A known=()
while IFS= read -r line; do
  [[ $line =~ ^\|\ ([a-z][0-9]+)\ \|\ (.*)\ \|$ ]] || continue
  known[${BASH_REMATCH[1]}]=1
  grep -qxF -- "${BASH_REMATCH[2]}" <<<"$names" || complain "no test \"${BASH_REMATCH[2]}\""
done <"$page"

rows=0 whole=0
while IFS='|' read -r _ row _ knob finding replay code _; do
  [[ ${row// /} =~ ^[0-9]+$ ]] || continue
  rows=$((rows + 1))
  for cell in "$knob" "$finding" "$replay" "$code"; do
    [[ ${cell// /} == - ]] && continue
    whole=$((whole + 1))
    for reference in $cell; do
      [[ -n ${known[$reference]:-} ]] || complain "row ${row// /}: $reference is not in the list of tests"
    done
  done
done <"$page"
[[ $rows == 24 ]] || complain "$rows rows instead of 24"
grep -qF "$whole of 96 cells" "$page" || complain "must say $whole of 96 cells"
exit $failed

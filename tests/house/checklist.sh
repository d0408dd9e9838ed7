#!/usr/bin/env bash
# Checks that every test in the checklist exists, that every reference in its table is in its list, that
# the page has the right number of cells with a test, and that every finding is in its table of
# recordings, or named as missing there.
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
  [[ $line =~ ^\|\ ([a-z][0-9]+[a-z]?)\ \|\ (.*)\ \|$ ]] || continue
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

recorded=0
declare -A seen=()
while IFS='|' read -r _ file ids _; do
  [[ $file =~ ^\ \`(.*/.*)\`\ $ ]] || continue
  file=${BASH_REMATCH[1]}
  [[ -e $file ]] || complain "there is no $file"
  for id in ${ids//,/ }; do
    recorded=$((recorded + 1))
    seen[$id]=1
    [[ $file == *.json || $file == *.cpp || $file == *run ]] || continue
    grep -qF -- "\"$id\"" "$file" || complain "$file does not record $id"
  done
done <"$page"
rules=0
for rule in analyzer/findings/rules/*.cpp; do
  id=$(sed -nE 's/.*\.id = "([a-z-]+)".*/\1/p' "$rule")
  [[ -n $id ]] || continue
  rules=$((rules + 1))
  [[ -n ${seen[$id]:-} ]] || grep -qF -- "\`$id\`" "$page" || complain "does not say what records $id"
done
grep -qF "$recorded of $rules findings" "$page" || complain "must say $recorded of $rules findings"
exit $failed

#!/usr/bin/env bash
# The top level has what the house allows and nothing else, every room has its CMakeLists.txt, and
# the tests mirror the tree.
set -euo pipefail

files() { git -c safe.directory='*' ls-files "$@"; }
if ! files >/dev/null 2>&1; then
  echo "skipped: not a git checkout" && exit 77
fi
failed=0
complain() {
  echo "$*" >&2
  failed=1
}

allowed='CMakeLists.txt CMakePresets.json pyproject.toml README.md LICENSE CONTRIBUTING.md CHANGELOG.md SECURITY.md
analyzer gui collectors replay tests sample_traces tools'
while IFS= read -r entry; do
  [[ $entry == .* ]] || grep -qwF -- "$entry" <<<"$allowed" ||
    complain "$entry: the top level has no place for it"
done < <(files | cut -d/ -f1 | sort -u)

# A folder with sources is a room and says what it is made of; the tests of a room lie in the folder
# of the same name.
while IFS= read -r folder; do
  [[ -f $folder/CMakeLists.txt ]] && continue
  # Parts of a room may lie one folder below it (rules/).
  [[ -f $(dirname "$folder")/CMakeLists.txt ]] || complain "$folder: no CMakeLists.txt builds it"
done < <(files -- '*.cpp' | xargs -n 1 dirname | sort -u)

for folder in tests/analyzer tests/collectors tests/replay tests/gui; do
  [[ -d $folder ]] || continue
  while IFS= read -r mirrored; do
    [[ -d ${mirrored#tests/} ]] || complain "$mirrored: mirrors nothing"
  done < <(files -- "$folder/*_test.cpp" | xargs -r -n 1 dirname | sort -u)
done
exit "$failed"

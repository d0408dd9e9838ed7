#!/usr/bin/env bash
# Installs this build, builds the example against what was installed as a user would, and records a
# run with it. Every installed header must stand by itself.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix=$scratch/prefix
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$STALLSCOPE_BUILD/CMakeCache.txt")

cmake --install "$STALLSCOPE_BUILD" --prefix "$prefix" >"$scratch/install.log"
test -s "$prefix/share/doc/stallscope/LICENSE"

echo "--- headers"
(cd "$prefix/include/stallscope" && find . -name '*.h' -printf '%P\0') |
  xargs -0 -P 2 -I '{}' "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Werror \
    -I "$prefix/include/stallscope" -include '{}' -x c++ /dev/null
if grep -rl 'pb\.h' "$prefix/include"; then
  echo "these headers show protobuf to users" >&2
  exit 1
fi

echo "--- example"
# A copy, so that nothing beside the example itself can be found by accident.
cp -R "$STALLSCOPE_SOURCE/collectors/recorder/example" "$scratch/example"
cmake -S "$scratch/example" -B "$scratch/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS=-O1
cmake --build "$scratch/build"
"$scratch/build/stallscope-example" -o "$scratch/run.sst" --seconds 1 --block 4096 |
  tee "$scratch/run.log"
grep -q ' 0 dropped' "$scratch/run.log"
test -s "$scratch/run.sst"

if [[ -x $prefix/bin/stallscope ]]; then
  echo "--- installed program"
  "$prefix/bin/stallscope" info "$scratch/run.sst" --format json >"$scratch/info.json"
  /usr/bin/python3 - "$scratch/info.json" <<'CHECK'
import json, sys
info = json.load(open(sys.argv[1]))
assert info["sealed"] is True, info
assert info["spans"] > 0 and info["steps"] > 0, info
assert info["dropped"] == 0 and info["damaged_bytes"] == 0, info
CHECK
  bash -n "$prefix/share/bash-completion/completions/stallscope"
  test -s "$prefix/share/zsh/site-functions/_stallscope"
  test -s "$prefix/share/fish/vendor_completions.d/stallscope.fish"
  for page in "$prefix"/bin/*; do
    page=$prefix/share/man/man1/${page##*/}.1
    grep -q '^\.TH' "$page" || { echo "no man page $page" >&2 && exit 1; }
  done
fi

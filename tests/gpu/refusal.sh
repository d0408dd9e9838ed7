#!/usr/bin/env bash
# tests/gpu/run fails loudly if it cannot measure: without a build, and without a GPU;
# and a build that it packs is small enough to travel.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}

# expect CODE TEXT ARGUMENTS: the script must exit with CODE and print TEXT to stderr.
expect() {
  local code=0
  tests/gpu/run "${@:3}" >"$scratch/out" 2>"$scratch/err" || code=$?
  [[ $code -eq $1 ]] || fail "tests/gpu/run ${*:3}: exit code $code: $(<"$scratch/err")"
  grep -qF "$2" "$scratch/err" || fail "'$2' is not in: $(<"$scratch/err")"
}

expect 1 "not built: " --carried "$scratch"
expect 2 "unrecognized arguments" --no-such-option
tests/gpu/run --help | grep -q -- --carried || fail "--help does not list the options"

if [[ ! -e $STALLSCOPE_BUILD/bin/stallscope_cuda.so ]]; then
  echo "skipped: this build has no CUDA module" && exit 77
fi
if [[ -e /dev/nvidiactl ]]; then
  echo "skipped: this machine has a GPU" && exit 77
fi
expect 5 "no GPU to measure: cuda driver: " --build "$STALLSCOPE_BUILD"
if grep -q '^STALLSCOPE_SANITIZE:STRING=.' "$STALLSCOPE_BUILD/CMakeCache.txt"; then
  exit 0 # several times as large, and never carried elsewhere
fi
tests/gpu/run --build "$STALLSCOPE_BUILD" --pack "$scratch/build.tar.gz"
expect 5 "no GPU to measure: cuda driver: " --carried "$scratch/build.tar.gz"

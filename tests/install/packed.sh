#!/usr/bin/env bash
# Packs this build as a wheel and a tar, and uses them as users do: from a folder with a space in its
# name, with an empty environment, in a new virtual environment. Apart from the tree, only files of the
# system are used.
set -euo pipefail

for program in patchelf readelf dpkg-query; do
  command -v "$program" >/dev/null || { echo "skipped: $program is not installed" && exit 77; }
done
/usr/bin/python3 -c 'import ensurepip' 2>/dev/null ||
  { echo "skipped: python3-venv is not installed" && exit 77; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}
export SOURCE_DATE_EPOCH=1700000000
pack() {
  /usr/bin/python3 "$STALLSCOPE_SOURCE/tools/packages/pack.py" --build "$STALLSCOPE_BUILD" "$@"
}
# bare COMMAND...: as a user with nothing set, and no compiler on the PATH.
bare() { env -i HOME="$scratch/home" PATH=/usr/bin:/bin "$@"; }
mkdir "$scratch/home"

echo "--- packing, and packing again"
pack --out "$scratch/packages" wheel tar
(cd "$scratch/packages" && sha256sum --check --quiet SHA256SUMS)
wheel=$(echo "$scratch"/packages/*.whl)
pack --out "$scratch/again" wheel
cmp "$wheel" "$scratch/again/${wheel##*/}"
[[ $(stat -c %s "$wheel") -le 40000000 ]] || fail "the wheel is larger than 40 MB"
[[ $wheel =~ -py3-none-manylinux_2_[0-9]+_$(uname -m).whl$ ]] || fail "the wheel's name: $wheel"

echo "--- the tar"
mkdir "$scratch/any where"
tar -xf "$scratch"/packages/*.tar.gz -C "$scratch/any where"
tree=$(echo "$scratch/any where"/*)
sample=$tree/share/stallscope/samples/input_decode.sst
bare "$tree/bin/stallscope" --version
bare "$tree/bin/stallscope" analyze "$sample" | grep -q '^input-bound: decode (cpu)'
(cd "$scratch/home" && bare "$tree/bin/stallscope") | grep -qF 'samples/input_decode.sst'
bare "$tree/bin/stallscope-gui" --export-png overview "$scratch/overview.png" "$sample"
cmp -n 8 "$scratch/overview.png" <(printf '\x89PNG\r\n\x1a\n')
# Libraries come from the tree, unless every system has its own.
for program in stallscope stallscope-gui; do
  bare ldd "$tree/bin/$program" >"$scratch/loaded"
  if grep -F 'not found' "$scratch/loaded"; then fail "$program lacks a library"; fi
  strangers=$(grep -vF "$tree" "$scratch/loaded" | awk '$2 == "=>" {print $1}' |
    grep -vE '^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s|X11|xcb|Xau|Xdmcp|bsd|md|GL|GLX|GLdispatch))\.so' ||
    true)
  [[ -z $strangers ]] || fail "$program loads from the system: $strangers"
done
# The tree has the license of each of its libraries.
[[ $(find "$tree/share/doc/stallscope/licenses" -type f -size +0 | wc -l) -ge 25 ]] ||
  fail "licenses are missing"
test -s "$tree/share/doc/stallscope/licenses/fonts-dejavu-core.txt"
# They refer to texts that only Debian has in that place.
for name in GPL-3 LGPL-2.1 Apache-2.0; do
  test -s "$tree/share/doc/stallscope/licenses/common/$name.txt" || fail "the text of $name is missing"
done

if command -v xvfb-run >/dev/null && command -v xdotool >/dev/null; then
  echo "--- its window"
  # The window is found by its title, which it gets once it is drawn.
  xvfb-run -a bash -euo pipefail -c '
    env HOME="$2" "$0" "$1" & window=$!
    timeout 60 xdotool search --sync --name "input_decode" >/dev/null || { kill $window; exit 1; }
    kill $window; wait $window || true' "$tree/bin/stallscope-gui" "$sample" "$scratch/home"
fi

echo "--- the wheel"
/usr/bin/python3 -m venv "$scratch/venv"
bare "$scratch/venv/bin/python" -m pip install -q --no-index --no-deps \
  --disable-pip-version-check "$wheel"
bare "$scratch/venv/bin/stallscope" --version
cat >"$scratch/train.py" <<'TRAIN'
import stallscope
for number in stallscope.loader(range(20)):
    stallscope.step()
print(stallscope.__file__)
TRAIN
# Outside of a recording, the module is the environment's; in one, it is the program's: the same bytes.
alone=$(bare "$scratch/venv/bin/python" "$scratch/train.py")
[[ $alone == "$scratch/venv/"* ]] || fail "import stallscope found $alone"
cmp "$alone" "$STALLSCOPE_SOURCE/collectors/job/python/stallscope.py"
(cd "$scratch/home" && bare "$scratch/venv/bin/stallscope" run -o run.sst -- \
  "$scratch/venv/bin/python" "$scratch/train.py") 2>"$scratch/log"
grep -q '20 steps' "$scratch/log" || fail "the job's steps: $(<"$scratch/log")"
bare "$scratch/venv/bin/stallscope-gui" --export-png timeline "$scratch/timeline.png" \
  "$scratch/home/run.sst"
bare "$scratch/venv/bin/python" -m pip uninstall -q -y --disable-pip-version-check stallscope
left=$(find "$scratch/venv" -iname '*stallscope*' -not -type d)
[[ -z $left ]] || fail "uninstalled, these are left: $left"

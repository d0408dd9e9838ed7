#!/usr/bin/env bash
# What is installed for the desktop is what its specifications ask for.
set -euo pipefail

folder=$STALLSCOPE_SOURCE/gui/app/desktop
for program in desktop-file-validate xmllint; do
  command -v "$program" >/dev/null || { echo "skipped: no $program" && exit 77; }
done
fail() {
  echo "$*" >&2
  exit 1
}

said=$(desktop-file-validate "$folder/stallscope.desktop") || fail "$said"
[[ -z $said ]] || fail "$said"
xmllint --noout "$folder/stallscope.svg" "$folder/stallscope.xml"

# The entry names the type that the other file defines, and the icon that is installed.
type=$(sed -n 's/.*mime-type type="\([^"]*\)".*/\1/p' "$folder/stallscope.xml")
grep -q "^MimeType=$type;\$" "$folder/stallscope.desktop" || fail "the entry does not open $type"
grep -q '^Icon=stallscope$' "$folder/stallscope.desktop" || fail "the entry has another icon"

# The magic is that of a trace.
magic=$(sed -n 's/.*<match type="string" offset="0" value="\([^"]*\)".*/\1/p' "$folder/stallscope.xml")
printf '%b' "$magic" | cmp -n 8 - "$STALLSCOPE_SOURCE/sample_traces/transfer.sst" ||
  fail "the magic is not that of a trace"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$STALLSCOPE_BUILD" --prefix "$scratch" --component desktop >/dev/null
for file in applications/stallscope.desktop icons/hicolor/scalable/apps/stallscope.svg \
  mime/packages/stallscope.xml; do
  [[ -s $scratch/share/$file ]] || fail "$file is not installed"
done

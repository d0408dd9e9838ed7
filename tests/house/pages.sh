#!/usr/bin/env bash
# What the pages say is so: commands in ```sh blocks exist, blocks after <!-- test --> run and
# compile, every `stallscope ...` command has help, links inside the checkout lead somewhere.
set -euo pipefail

if ! git -c safe.directory='*' ls-files >/dev/null 2>&1; then
  echo "skipped: not a git checkout" && exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
complain() {
  echo "$*" >&2
  failed=1
}

# blocks LANGUAGE TESTED PAGE: the text of the fenced blocks in that language; with TESTED=1 only of
# those that are marked.
blocks() {
  awk -v language="$1" -v tested="$2" '
    /^```/ { if (inside) { inside = 0; next }
             inside = 1; wanted = ($0 == "```" language) && (!tested || marked); marked = 0; next }
    inside { if (wanted) print; next }
    { marked = ($0 == "<!-- test -->") }' "$3"
}

mapfile -t pages < <(git -c safe.directory='*' ls-files -- '*.md')
presets=$(sed -n 's/.*"name": "\([a-z]*\)".*/\1/p' CMakePresets.json)
for page in "${pages[@]}"; do
  while read -r command rest; do
    case "$command" in
      "" | "#"*) ;;
      build/release/bin/*)
        [[ -x $STALLSCOPE_BUILD/bin/${command##*/} ]] || complain "$page: no program $command" ;;
      */*) [[ -x $command ]] || complain "$page: no script $command" ;;
      *) command -v "$command" >/dev/null || complain "$page: no command $command" ;;
    esac
    if [[ $rest =~ --preset[\ =]([a-z]+) ]]; then
      grep -qxF "${BASH_REMATCH[1]}" <<<"$presets" ||
        complain "$page: no preset ${BASH_REMATCH[1]}"
    fi
  done < <(blocks sh 0 "$page")

  while IFS= read -r name; do
    "$STALLSCOPE_BUILD/bin/stallscope" "$name" --help >/dev/null ||
      complain "$page: stallscope $name is not a command"
  done < <(grep -oE '`stallscope [a-z]+' "$page" | cut -d' ' -f2 | sort -u)

  while IFS= read -r target; do
    [[ -e $(dirname "$page")/$target ]] || complain "$page: the link to $target leads nowhere"
  done < <(grep -oE '\]\([^)#:]+\)' "$page" | tr -d '])(' | sort -u)
done

# Every file or folder that CONTRIBUTING names is there; one with a placeholder stands for many.
while IFS= read -r path; do
  [[ -e $path ]] || complain "CONTRIBUTING.md: there is no $path"
done < <(grep -oE '`(analyzer|collectors|gui|replay|tests|tools)/[a-z0-9_./]+`' CONTRIBUTING.md | tr -d '`' | sort -u)

# The marked commands see the checkout, with this build in the place of build/release.
mkdir -p "$scratch/checkout/build"
ln -s "$STALLSCOPE_BUILD" "$scratch/checkout/build/release"
ln -s "$PWD/sample_traces" "$scratch/checkout/sample_traces"
for page in "${pages[@]}"; do
  blocks sh 1 "$page" >"$scratch/commands"
  (cd "$scratch/checkout" && bash -euo pipefail "$scratch/commands" >"$scratch/log" 2>&1) || {
    cat "$scratch/log" >&2
    complain "$page: its commands fail"
  }
  blocks cpp 1 "$page" >"$scratch/snippet.cpp"
  c++ -std=c++20 -Wall -fsyntax-only -I . "$scratch/snippet.cpp" ||
    complain "$page: its program does not compile"
done
exit "$failed"

#!/usr/bin/env bash
# What the pages say is so: commands in ```sh blocks exist, blocks after <!-- test --> run and
# compile, every `stallscope ...` command has help, and in it each option that a page mentions, links
# inside the checkout lead somewhere.
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

# blocks LANGUAGE MARK PAGE: the text of the fenced blocks in that language after a line
# `<!-- MARK -->`; all of them if MARK is empty.
blocks() {
  awk -v language="$1" -v mark="$2" '
    /^```/ { if (inside) { inside = 0; next }
             inside = 1; wanted = ($0 == "```" language) && (mark == "" || marked); marked = 0; next }
    inside { if (wanted) print; next }
    { marked = ($0 == "<!-- " mark " -->") }' "$3"
}

mapfile -t pages < <(git -c safe.directory='*' ls-files -- '*.md')
presets=$(sed -n 's/.*"name": "\([a-z]*\)".*/\1/p' CMakePresets.json)
for page in "${pages[@]}"; do
  while read -r command rest; do
    case "$command" in
      "" | "#"*) ;;
      # The program itself: it is put on the PATH below.
      stallscope) ;;
      build/release/bin/*)
        [[ -x $STALLSCOPE_BUILD/bin/${command##*/} ]] || complain "$page: no program $command" ;;
      */*) [[ -x $command ]] || complain "$page: no script $command" ;;
      *) command -v "$command" >/dev/null || complain "$page: no command $command" ;;
    esac
    if [[ $rest =~ --preset[\ =]([a-z]+) ]]; then
      grep -qxF "${BASH_REMATCH[1]}" <<<"$presets" ||
        complain "$page: no preset ${BASH_REMATCH[1]}"
    fi
  done < <(blocks sh "" "$page")

  # A command that no test runs goes stale.
  if awk '/^```/ { if (inside) { inside = 0; next } inside = 1; untried = ($0 == "```sh") && !marked
                   marked = 0; next }
          inside { if (untried && /^stallscope /) found = 1; next }
          { marked = /^<!-- test/ }
          END { exit !found }' "$page"; then
    complain "$page: a block of stallscope commands is not marked for the test"
  fi

  while IFS= read -r name; do
    "$STALLSCOPE_BUILD/bin/stallscope" "$name" --help >/dev/null ||
      complain "$page: stallscope $name is not a command"
  done < <(grep -oE '`stallscope [a-z]+' "$page" | cut -d' ' -f2 | sort -u)

  # Also in workflows and tables, which nothing runs.
  while read -r _ name words; do
    help=$("$STALLSCOPE_BUILD/bin/stallscope" "$name" --help 2>/dev/null) || continue
    for option in $(grep -oE -- '(^| )--[a-z][a-z-]+' <<<"${words%% -- *}"); do
      grep -qE -- "(^|[ ,])$option($|[ ,=])" <<<"$help" || complain "$page: stallscope $name has no $option"
    done
  done < <(grep -oE 'stallscope [a-z]+ [^`]*--[a-z][^`]*' "$page")

  while IFS= read -r target; do
    [[ -e $(dirname "$page")/$target ]] || complain "$page: the link to $target leads nowhere"
  done < <(grep -oE '\]\([^)#:]+\)' "$page" | tr -d '])(' | sort -u)
done

# Every file or folder that CONTRIBUTING names is there; one with a placeholder stands for many.
while IFS= read -r path; do
  [[ -e $path ]] || complain "CONTRIBUTING.md: there is no $path"
done < <(grep -oE '`(analyzer|collectors|gui|replay|tests|tools)/[a-z0-9_./]+`' CONTRIBUTING.md | tr -d '`' | sort -u)

# The marked commands get the checkout, with this build in place of build/release, its programs on the
# PATH, and a training program. `<!-- test torch -->`: one that uses PyTorch. `<!-- test sound -->`: one
# that hardly waits, for a budget that must hold. `<!-- test repository -->`: a repository whose third
# commit made it slow.
checkout=$scratch/checkout
mkdir -p "$checkout/build" "$scratch/bin"
ln -s "$STALLSCOPE_BUILD" "$checkout/build/release"
ln -s "$PWD/sample_traces" "$checkout/sample_traces"
ln -s /usr/bin/python3 "$scratch/bin/python"
export PATH=$scratch/bin:$STALLSCOPE_BUILD/bin:$PATH

make_repository() {
  export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.invalid GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.invalid
  git init --quiet -b main "$1"
  cd "$1"
  cp "$STALLSCOPE_SOURCE/tests/house/train.py" .
  git add train.py && git commit --quiet -m "Train" && git tag v1.0
  echo "# a note" >>train.py && git commit --quiet -am "Note"
  sed -i 's/sleep(0.02)/sleep(0.06)/' train.py && git commit --quiet -am "Slow down"
  echo "# another note" >>train.py && git commit --quiet -am "Note again"
}

# run_blocks KIND PAGE FOLDER: the page's blocks of this kind.
run_blocks() {
  blocks sh "$1" "$2" >"$scratch/commands"
  [[ -s $scratch/commands ]] || return 0
  (cd "$3" && bash -euo pipefail "$scratch/commands" >"$scratch/log" 2>&1 </dev/null) || {
    cat "$scratch/log" >&2
    complain "$2: its commands fail"
  }
}

torch=no
/usr/bin/python3 -c 'import torch' 2>/dev/null && torch=yes
for page in "${pages[@]}"; do
  cp tests/house/train.py "$checkout/train.py"
  run_blocks test "$page" "$checkout"
  sed -e 's/sleep(0.005)/sleep(0.05)/' -e 's/sleep(0.02)/sleep(0.0005)/' tests/house/train.py >"$checkout/train.py"
  run_blocks "test sound" "$page" "$checkout"
  if [[ $torch == yes ]]; then
    cp tests/house/train_torch.py "$checkout/train.py"
    run_blocks "test torch" "$page" "$checkout"
  fi
  if grep -qx '<!-- test repository -->' "$page"; then
    rm -rf "$scratch/repository"
    (make_repository "$scratch/repository")
    run_blocks "test repository" "$page" "$scratch/repository"
    grep -q 'Slow down' "$scratch/log" || complain "$page: the slow commit was not found"
  fi
  blocks cpp test "$page" >"$scratch/snippet.cpp"
  c++ -std=c++20 -Wall -fsyntax-only -I . "$scratch/snippet.cpp" ||
    complain "$page: its program does not compile"
done
exit "$failed"

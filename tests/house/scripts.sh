#!/usr/bin/env bash
# The entry scripts: what they say about themselves and what they refuse. Nothing here installs or
# builds. shellcheck looks at all of them where it is installed.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
  echo "$*" >&2
  exit 1
}

cd "$scratch" # they work from any folder
tools=$STALLSCOPE_SOURCE/tools
for script in setup test demo format tidy release site; do
  "$tools/$script" --help >"$scratch/help" </dev/null || fail "$script --help failed"
  grep -q "tools/$script" "$scratch/help" || fail "$script --help does not say how it is called"
done
for script in setup demo format release site; do
  code=0
  "$tools/$script" --no-such-option 2>"$scratch/error" </dev/null || code=$?
  [[ $code -eq 2 ]] || fail "$script took an unknown option (exit code $code)"
  [[ $(wc -l <"$scratch/error") -eq 1 ]] || fail "$script: the error is not one line"
done

# Each level of packages holds the one below it, and no package twice.
for level in "" --package --test --ci --dev; do
  # shellcheck disable=SC2086
  "$tools/setup" --list $level | sort >"$scratch/level$level"
  [[ -z $(uniq -d "$scratch/level$level") ]] || fail "setup $level names a package twice"
done
for pair in ": --package" "--package: --test" "--test: --ci" "--ci: --dev"; do
  missing=$(comm -23 "$scratch/level${pair%:*}" "$scratch/level${pair#*: }")
  [[ -z $missing ]] || fail "setup ${pair#*: } leaves out $missing"
done

# Where apt is not there, one line says what is missing.
mkdir "$scratch/bin"
for program in bash sed id; do ln -s "$(command -v "$program")" "$scratch/bin/$program"; done
if PATH=$scratch/bin "$(command -v bash)" "$tools/setup" 2>"$scratch/error"; then
  fail "setup claims to work without apt"
fi
if [[ $(wc -l <"$scratch/error") -ne 1 ]] || ! grep -q 'apt-get not found' "$scratch/error"; then
  fail "setup without apt says: $(<"$scratch/error")"
fi

if command -v shellcheck >/dev/null; then
  cd "$STALLSCOPE_SOURCE"
  git -c safe.directory='*' grep -lE '^#!/usr/bin/env bash' | xargs shellcheck --severity=warning
fi

cd "$STALLSCOPE_SOURCE"
git -c safe.directory='*' grep -lE '^#!/usr/bin/(env )?python3' | while IFS= read -r script; do
  python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script" ||
    fail "$script does not parse"
done

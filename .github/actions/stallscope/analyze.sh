#!/usr/bin/env bash
# What the action does itself: writes the reports, the job summary, the annotations and the outputs.
# The inputs come as environment variables (action.yml). It exits 0 whatever the analysis says, with
# stallscope's exit code in the output `exit-code`: the reports are uploaded before the step fails.
set -euo pipefail

reports=${REPORTS:-stallscope-reports}
mkdir -p -- "$reports"
files=("$reports"/report.md "$reports"/report.html "$reports"/report.json "$reports"/junit.xml
  "$reports"/stallscope.sarif)
# What an earlier run left must not pass for this one's.
rm -f -- "${files[@]}"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# One path per line: a path may have blanks.
lines() { sed 's/^[[:space:]]*//; s/[[:space:]]*$//; /^$/d; s/^-/.\/-/' <<<"$1"; }
mapfile -t traces < <(lines "$TRACE")
mapfile -t base < <(lines "${BASE-}")

# annotate LEVEL TEXT: on the run's page; GitHub's escapes.
annotate() {
  local text=${2//'%'/%25}
  text=${text//$'\r'/%0D}
  echo "::$1 title=stallscope::${text//$'\n'/%0A}"
}

unescape() {
  sed "s/&lt;/</g; s/&gt;/>/g; s/&quot;/\"/g; s/&#39;/'/g; s/&apos;/'/g; s/&#36;/$/g; s/&#32;/ /g
    s/&#124;/|/g; s/&amp;/\&/g"
}
# messages ELEMENT: what a JUnit report's elements of this kind say.
messages() {
  sed -n "s/^ *<$1 [^>]*message=\"\([^\"]*\)\".*/\1/p" "$reports/junit.xml" | unescape
}

arguments=("--inconclusive=${INCONCLUSIVE:-fail}")
if [[ -n ${BUDGET-} ]]; then arguments+=(--budget "$BUDGET"); fi
if [[ ${#base[@]} -gt 0 ]]; then arguments+=(--base "${base[@]}"); fi

status=0
stallscope analyze "${traces[@]}" "${arguments[@]}" \
  --format markdown -o "$reports/report.md" \
  --format html -o "$reports/report.html" \
  --format json -o "$reports/report.json" \
  --format junit -o "$reports/junit.xml" \
  --format sarif -o "$reports/stallscope.sarif" 2>"$errors" || status=$?
cat "$errors" >&2

case $status in
  0) outcome=pass ;;
  1) outcome=fail ;;
  4) outcome=inconclusive ;;
  *) outcome=error ;;
esac

verdict=
sarif=
if [[ -f $reports/report.md ]]; then
  cat "$reports/report.md" >>"$GITHUB_STEP_SUMMARY"
  verdict=$(sed -n '1s/^## //p' "$reports/report.md" | sed 's/\\\(.\)/\1/g' | unescape)
fi
if [[ -f $reports/stallscope.sarif ]]; then sarif=$reports/stallscope.sarif; fi
if [[ -f $reports/junit.xml ]]; then
  while IFS= read -r text; do annotate error "$text"; done < <(messages failure)
  while IFS= read -r text; do annotate warning "$text"; done < <(messages error)
  while IFS= read -r text; do annotate notice "$text"; done < <(messages skipped)
  while IFS= read -r text; do annotate warning "$text"; done < <(
    sed -n 's/^ *<system-out>warning: \(.*\)<\/system-out>$/\1/p' "$reports/junit.xml" | unescape)
fi
if [[ $outcome == error ]]; then
  annotate error "$(<"$errors")"
  { echo "## No analysis" && echo && sed 's/^/    /' "$errors"; } >>"$GITHUB_STEP_SUMMARY"
elif [[ -n $verdict ]]; then
  annotate notice "$verdict"
fi

{
  echo "exit-code=$status"
  echo "outcome=$outcome"
  echo "verdict=$verdict"
  echo "reports=$reports"
  echo "sarif=$sarif"
} >>"$GITHUB_OUTPUT"

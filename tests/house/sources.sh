#!/usr/bin/env bash
# What no compiler checks about the sources: they are listed, guarded, free of left-over marks, and
# generated protobuf headers stay inside the room that generates them.
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

mapfile -t lists < <(files -- '*CMakeLists.txt' '*.cmake')
grep -HnE '\bGLOB(_RECURSE)?\b' "${lists[@]}" && complain "sources are listed, not globbed"
grep -HnE '\baux_source_directory\b' "${lists[@]}" && complain "sources are listed, not searched for"

# A module of the shim that is not listed is missing from the program, and only a job's run shows it.
for module in $(files -- 'collectors/job/python/stallscope_shim/*.py'); do
  grep -q "stallscope_shim/${module##*/}" collectors/job/CMakeLists.txt ||
    complain "collectors/job/CMakeLists.txt does not list $module"
done

# Every source is compiled in this build, alone or in a batch, or named in the CMakeLists.txt of its
# folder or of the one above it: some are for a machine or a compiler that is not here.
compiled=$(cat "$STALLSCOPE_BUILD/compile_commands.json" &&
  find "$STALLSCOPE_BUILD" -path '*/Unity/unity_*.cxx' -exec cat {} +)
while IFS= read -r source; do
  grep -qF "/$source\"" <<<"$compiled" && continue
  folder=$(dirname "$source")
  until [[ -f $folder/CMakeLists.txt ]]; do folder=$(dirname "$folder"); done
  grep -qE "(^|[[:space:](/])${source##*/}([[:space:])]|\$)" "$folder/CMakeLists.txt" ||
    complain "$source: nothing builds it"
done < <(files -- '*.cpp')

# A header that shows protobuf to its readers makes every room above it depend on protobuf. Headers
# that other rooms do not include may.
while IFS=: read -r header _; do
  room=$(dirname "$header")
  readers=$(files -z -- '*.cpp' '*.h' | xargs -0 grep -lF "\"$header\"" | grep -v "^$room/[^/]*$" || true)
  [[ -z $readers ]] || complain "$header includes a .pb.h and leaves its room through $readers"
done < <(files -z -- '*.h' | xargs -0 grep -HE '#include .*\.pb\.h"' || true)

# A guard's name would have to follow its file on every move.
while IFS= read -r header; do
  grep -qxF '#pragma once' "$header" || complain "$header: no #pragma once"
done < <(files -- '*.h' ':!collectors/recorder/example')

# A thread that cannot be started, or that throws, is an error: analyzer/base/thread.h. The example
# is a user's own program.
files -z -- 'analyzer/*.cpp' 'analyzer/*.h' 'collectors/*.cpp' 'collectors/*.h' 'replay/*' 'gui/*' \
  ':!analyzer/base/thread.*' ':!collectors/recorder/example' |
  xargs -0 grep -HnE 'std::(jthread|async)\b|pthread_create|std::thread(\(|\{| [a-z_]+[({]|>)' &&
  complain "threads are started by analyzer/base/thread.h alone"

mark='TO''DO|FIX''ME|XX''X|HA''CK'
files -z | xargs -0 grep -InwE "$mark" && complain "left-over marks"
exit "$failed"

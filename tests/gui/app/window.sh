#!/usr/bin/env bash
# The real window, on a screen in memory, with somebody at its keyboard: opens a trace, zooms, goes
# from panel to panel, selects a stall, jumps from a finding, and quits. A picture of the screen
# that changes is how it is known that something happened.
set -euo pipefail

for program in Xvfb xdotool xwd; do
  command -v "$program" >/dev/null || { echo "skipped: no $program" && exit 77; }
done
scratch=$(mktemp -d)
server=
gui=
finish() {
  [[ -z $gui ]] || kill "$gui" 2>/dev/null || true
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap finish EXIT
fail() {
  echo "$*" >&2
  sed 's/^/stallscope-gui said: /' "$scratch/err" >&2 || true
  exit 1
}

# -noreset: the server must not start anew when the first client goes. It picks a free number.
Xvfb -displayfd 3 -screen 0 1600x900x24 -noreset -nolisten tcp 3>"$scratch/number" 2>/dev/null &
server=$!
for _ in $(seq 100); do [[ -s $scratch/number ]] && break || sleep 0.1; done
[[ -s $scratch/number ]] || { echo "skipped: Xvfb does not start" && exit 77; }
DISPLAY=:$(<"$scratch/number")
export DISPLAY LIBGL_ALWAYS_SOFTWARE=1
# The driver of OpenGL keeps some memory, and has been unloaded when leaks are looked for.
export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export XDG_CONFIG_HOME=$scratch/config HOME=$scratch
# Out of the way: a tooltip would change the picture.
xdotool mousemove 1599 899

start() { # a trace, and what is to stand before the program
  "${@:2}" "$STALLSCOPE_BUILD/bin/stallscope-gui" "$scratch/$1" 2>"$scratch/err" &
  gui=$!
}
cp "$STALLSCOPE_SOURCE/sample_traces/input_decode.sst" "$scratch/run.sst"
start run.sst env

picture() { xwd -root -silent | md5sum; }
# Waits until the screen is another than $1, and stands still.
changed() {
  local now last=
  for _ in $(seq 100); do
    kill -0 "$gui" 2>/dev/null || fail "it ended when $2"
    now=$(picture)
    if [[ $now != "$1" && $now == "$last" ]]; then
      return 0
    fi
    last=$now
    sleep 0.2
  done
  fail "nothing happened when $2"
}
act() { # what it is, and xdotool's words
  local before
  before=$(picture)
  xdotool "${@:2}"
  changed "$before" "$1"
}

# Waits for a window that shows the trace, and brings it to the front.
shown() {
  local empty window=
  empty=$(picture)
  for _ in $(seq 100); do
    window=$(xdotool search --onlyvisible --name "$1" 2>/dev/null | head -1) && [[ -n $window ]] && break
    kill -0 "$gui" 2>/dev/null || fail "it did not start"
    sleep 0.2
  done
  [[ -n $window ]] || fail "no window shows the trace"
  xdotool windowfocus "$window" windowmove "$window" 0 0
  changed "$empty" "it started"
}
# Waits until it has ended, with 0.
ended() {
  for _ in $(seq 50); do
    kill -0 "$gui" 2>/dev/null || break
    sleep 0.1
  done
  ! kill -0 "$gui" 2>/dev/null || fail "$1 did not end it"
  code=0
  wait "$gui" || code=$?
  gui=
  [[ $code -eq 0 ]] || fail "after $1 it ended with $code"
}

shown run.sst

# The first start offers a tour, which keeps the keys to itself.
act "the tour was left" key Escape
act "the timeline was shown" key 2
act "W zoomed in" key w
act "W zoomed in again" key w
act "D moved right" key d
act "M kept the place" key m
act "F fitted" key f
act "the wheel zoomed" mousemove 900 500 click 4
xdotool mousemove 1599 899
act "the pointer came onto the device's lane" mousemove 900 140
act "a stall was clicked" click 1
act "Esc left it" mousemove 1599 899 key Escape
act "the findings were shown" key 6
act "a finding was opened" mousemove 900 110 click 1
act "its evidence was followed" mousemove 450 196 click 1
xdotool mousemove 1599 899
act "the palette opened" key ctrl+shift+p
act "and closed" key Escape
act "the help opened" key question
act "and closed again" key Escape
xdotool key ctrl+q
ended "Ctrl+Q"
[[ -s $scratch/run.sst.view ]] || fail "the bookmark is not kept beside the trace"
cmp -s "$STALLSCOPE_SOURCE/sample_traces/input_decode.sst" "$scratch/run.sst" ||
  fail "the trace was changed"

# A signal ends it like its own menu does: where one looked is kept, and so is the list of files.
for signal in TERM HUP INT; do
  cp "$scratch/run.sst" "$scratch/$signal.sst"
  # A shell starts what runs beside it with INT ignored.
  start "$signal.sst" env --default-signal=INT
  shown "$signal.sst"
  act "the tour was left" key Escape
  act "the timeline was shown" key 2
  act "W zoomed in" key w
  kill -s "$signal" "$gui"
  ended "$signal"
  grep -q visible "$scratch/$signal.sst.view" || fail "$signal lost the view"
  grep -q "$signal.sst" "$scratch/config/stallscope/settings.json" || fail "$signal lost the list"
done

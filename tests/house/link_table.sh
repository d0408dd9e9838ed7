#!/usr/bin/env bash
# The table of rooms really stops a configure step: a room edge, a part, a room that it does not
# have, and lets through what it has.
set -euo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# configure NAME ROOM LINKS: a house of base, trace and ROOM (with LINKS), with the real table.
configure() {
  local house=$scratch/$1
  mkdir -p "$house"
  echo 'namespace room { int Number() { return 1; } }' >"$house/room.cpp"
  cat >"$house/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.25)
project(house LANGUAGES CXX)
include(GNUInstallDirs)
include("$STALLSCOPE_SOURCE/tools/cmake/StallscopeRooms.cmake")
add_library(stallscope_options INTERFACE)
stallscope_library(NAME analyzer/base SOURCES room.cpp)
stallscope_library(NAME analyzer/trace SOURCES room.cpp)
stallscope_library(NAME $2 SOURCES room.cpp LINKS $3)
CMAKE
  # What one run finds out about the compiler is right for the next.
  cmake -S "$house" -B "$house/build" -G Ninja -DCMAKE_CXX_COMPILER_WORKS=1 2>&1 |
    tr -s ' \n' ' ' >"$scratch/$1.log"
}

refuses() {
  if configure "$1" "$2" "$3"; then
    echo "$2 may link $3, and should not" >&2
    exit 1
  fi
  if ! grep -qF "$4" "$scratch/$1.log"; then
    printf '%s\nis not in the message:\n%s\n' "$4" "$(<"$scratch/$1.log")" >&2
    exit 1
  fi
  echo "refused: $2 -> $3"
}

refuses upwards analyzer/spec collectors/recorder \
  "analyzer/spec must not link collectors/recorder"
refuses part collectors/recorder json \
  "collectors/recorder must not link the part 'json'"
refuses stranger analyzer/attic analyzer/trace \
  "The room 'analyzer/attic' is not in the table"
if ! configure downwards collectors/recorder analyzer/trace; then
  cat "$scratch/downwards.log" >&2
  exit 1
fi
echo "allowed: collectors/recorder -> analyzer/trace"

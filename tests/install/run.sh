#!/usr/bin/env bash
# Installs the build into a folder of its own and builds a program against it from outside.
# usage: run.sh BUILD_FOLDER CONSUMER_FOLDER COMPILER
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$1" --prefix "$scratch/prefix" >/dev/null
cmake -S "$2" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$3" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$scratch/build"
"$scratch/build/consumer"
"$scratch/prefix/bin/magva" --version

#!/usr/bin/env bash
# Installs the build into a folder of its own and builds and runs the example of a user's own model against it.
# usage: run.sh BUILD_FOLDER EXAMPLE_FOLDER COMPILER
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$1" --prefix "$scratch/prefix" >/dev/null
cmake -S "$2" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$3" -DCMAKE_BUILD_TYPE=Release >/dev/null
cmake --build "$scratch/build"
"$scratch/build/own_model" | tee "$scratch/said"
grep -q "^converged: mu = 10\.[12]" "$scratch/said"
"$scratch/prefix/bin/magva" --version

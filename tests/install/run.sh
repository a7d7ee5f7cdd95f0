#!/usr/bin/env bash
# Installs the build into a folder of its own; builds and runs the example of a user's own model against it, and includes every
# pair of its headers. usage: run.sh BUILD_FOLDER EXAMPLE_FOLDER COMPILER
set -euo pipefail
here=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
build() {
  cmake -S "$1" -B "$scratch/$2" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_CXX_COMPILER="$3" -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$scratch/$2"
}
cmake --install "$1" --prefix "$scratch/prefix" >/dev/null
build "$here/headers" headers "$3"
build "$2" example "$3"
"$scratch/example/own_model" | tee "$scratch/said"
grep -q "^converged: mu = 10\.[12]" "$scratch/said"
"$scratch/prefix/bin/magva" --version

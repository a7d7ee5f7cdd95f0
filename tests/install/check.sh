#!/usr/bin/env bash
# Builds and runs the examples against what is installed in a folder, and includes every pair of its headers.
# usage: check.sh PREFIX COMPILER
set -euo pipefail
here=$(dirname "$(realpath "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
build() {
  cmake -S "$1" -B "$scratch/$2" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=Release >/dev/null
  cmake --build "$scratch/$2"
}
prefix=$(realpath "$1")
compiler="$2"
build "$here/headers" headers
build "$here/../../examples/own_model" own_model
"$scratch/own_model/own_model" | tee "$scratch/said"
grep -q "^converged: mu = 10\.[12]" "$scratch/said"
build "$here/../../examples/table" table
"$scratch/table/table" "$prefix/share/magva/ionosphere.csv" Class "$scratch/fit" >"$scratch/said" || [ $? -eq 3 ]
grep -q "^logistic regression .*: converged, ELBO" "$scratch/said"
"$prefix/bin/magva" summary "$scratch/fit" >/dev/null
"$prefix/bin/magva" --version

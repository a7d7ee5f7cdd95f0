#!/usr/bin/env bash
# Installs the build into a folder of its own and checks it there. usage: run.sh BUILD_FOLDER COMPILER
set -euo pipefail
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$1" --prefix "$scratch" >/dev/null
"$(dirname "$0")/check.sh" "$scratch" "$2"

#!/usr/bin/env bash
# clang_tidy_check.sh CLANG_TIDY BUILD_DIR: names and function sizes of every host source, by .clang-tidy.
set -euo pipefail
tidy=$1 build=$2
sources=$(sed -n 's/^ *"file": "\(.*\)".*/\1/p' "$build/compile_commands.json" | grep -vF "$build/" | sort -u)
[[ -n $sources ]] || { echo "no sources in $build/compile_commands.json"; exit 1; }
xargs -d '\n' -n 1 -P "$(nproc)" "$tidy" --quiet -p "$build" <<<"$sources" 2>/dev/null || exit 1
echo "$(wc -l <<<"$sources") sources pass"

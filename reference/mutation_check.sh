#!/usr/bin/env bash
# mutation_check.sh SOURCE_DIR MUTANT.sed|none LINK_ARGUMENTS_FILE COMPILER FLAG...
# Makes one edit to one file of the reference, compiles it and links the bounds' tests with it in front of the library:
# the tests must turn red. With `none`, an unedited copy of one file: they must stay green, which shows that the red
# comes from the edit. A mutant is a sed script; its comments say which file and what it breaks:
#   # file: reference/weighing.hpp
# (an edited header is seen by weigh.cpp alone, which is compiled again).
set -euo pipefail
source_dir=$1 mutant=$2 link=$3
compile=("${@:4}")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }

file=reference/weigh.cpp
if [[ $mutant != none ]]; then file=$(sed -n 's/^# file: //p' "$mutant"); fi
[[ -f $source_dir/$file ]] || fail "$mutant names no file of the tree: '$file'"
edited=$work/$file
mkdir -p "${edited%/*}"
cp -- "$source_dir/$file" "$edited"
if [[ $mutant != none ]]; then
  sed -i -f "$mutant" -- "$edited"
  changed=$(diff -- "$source_dir/$file" "$edited" | grep -c '^>' || true)
  [[ $changed == 1 ]] || fail "$mutant must change one line of $file, but changes $changed: adapt it"
  diff -U0 --label "a/$file" --label "b/$file" -- "$source_dir/$file" "$edited" || true
fi

unit=$edited
if [[ $file == *.hpp ]]; then unit=$source_dir/reference/weigh.cpp; fi
"${compile[@]}" -Wno-error -w -I"$work" -I"$source_dir" -c -o "$work/edited.o" "$unit"
"${compile[0]}" -o "$work/test" "$work/edited.o" @"$link"
code=0
"$work/test" --gtest_brief=1 >"$work/out" 2>&1 || code=$?
if [[ $mutant == none ]]; then
  [[ $code == 0 ]] || { tail -n 20 "$work/out"; fail "the unedited reference must pass"; }
  exit 0
fi
[[ $code == 1 ]] || fail "SURVIVED: no test turns red; exit code $code"
grep -c '^\[  FAILED  \].*GetParam\|^\[  FAILED  \] [A-Z]' "$work/out" | sed 's/^/killed; lines of red tests: /'

#!/usr/bin/env bash
# mutation_check.sh PROGRAM SOURCE_DIR MUTANT.sed|none CLANG FLAG...
# Makes one edit to a copy of the kernels, builds it for gfx942 and runs the smoke tier on it: that run must turn red
# (exit code 1, by failed, crashed or hung cases). With `none`, the unedited copy: that run must be green, which shows
# that the red comes from the edit. A mutant is a sed script; its comments say what it breaks, and in which file:
#   # file: kernels/mla_decode/stage1.hpp
set -euo pipefail
program=$1 source_dir=$2 mutant=$3
compile=("${@:4}")  # cmake/hip_code_objects.cmake: attest_amd_flags

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$*" >&2; exit 1; }

cp -r -- "$source_dir/kernels" "$work/kernels"
if [[ $mutant != none ]]; then
  file=$(sed -n 's/^# file: //p' "$mutant")
  [[ -f $source_dir/$file ]] || fail "$mutant names no file of the tree: '$file'"
  sed -i -f "$mutant" -- "$work/$file"
  changed=$(diff -- "$source_dir/$file" "$work/$file" | grep -c '^>' || true)
  [[ $changed == 1 ]] || fail "$mutant must change one line of $file, but changes $changed: adapt it to the kernel"
  diff -U0 --label "a/$file" --label "b/$file" -- "$source_dir/$file" "$work/$file" || true
fi

mkdir "$work/code_objects"
for kernel in "$work"/kernels/*/*.hip; do
  name=$(basename -- "$kernel" .hip)
  "${compile[@]}" --offload-arch=gfx942 -O3 -I"$work" -o "$work/code_objects/$name.gfx942.co" "$kernel"
done

code=0
"$program" nightly --tier smoke --device emu:gfx942 --code-objects "$work/code_objects" --out "$work/out" \
  >"$work/stdout" 2>"$work/stderr" </dev/null || code=$?
grep -E '^(failed|crashed|hung|infra) ' -A 2 "$work/stdout" | head -n 12 || true
tail -n 2 "$work/stdout"

count() { grep -c "\"record\":\"case_end\".*\"status\":\"$1\"" "$work/out/results.jsonl" || true; }
if [[ $mutant == none ]]; then
  [[ $code == 0 && $(count passed) -gt 0 ]] ||
    fail "the unedited kernel must pass the smoke tier, but the exit code is $code"
  exit 0
fi
red=$(($(count failed) + $(count crashed) + $(count hung)))
[[ $(count infra) == 0 ]] || fail "not a verdict on the kernel: $(count infra) cases ended in infra"
[[ $code == 1 && $red -gt 0 ]] || fail "SURVIVED: the edit turns no case red; exit code $code"
echo "killed by $red cases"
